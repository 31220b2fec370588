import { useEffect, useRef, useState } from '../lib/preact.js';

/** Does what may be refused: `attempt(work)`. `busy` while it goes on; `error`: why it was refused. */
export function useAttempt(refusal = null) {
  const [{ busy, error }, setState] = useState({ busy: false, error: refusal });
  const setError = (thrown) => setState((before) => ({ ...before, error: thrown }));
  const attempt = async (work) => {
    setState({ busy: true, error: null });
    try {
      await work();
    } catch (thrown) {
      setError(thrown);
    }
    setState((before) => ({ ...before, busy: false }));
  };
  return { attempt, busy, error, setError };
}

/**
 * What `ask` gives; asked again when one of `depends` changes, or by `read`. What was found before stays meanwhile. An
 * answer that comes after a newer question is dropped.
 */
export function useAnswer(ask, depends) {
  const [{ found, error }, setState] = useState({ found: null, error: null });
  const asked = useRef(0);
  const read = () => {
    asked.current += 1;
    const own = asked.current;
    const tell = (change) => own === asked.current && setState((before) => ({ ...before, ...change }));
    tell({ error: null });
    ask().then(
      (answer) => tell({ found: answer }),
      (thrown) => tell({ error: thrown }),
    );
  };
  useEffect(() => {
    read();
    return () => {
      asked.current += 1;
    };
  }, depends);
  return { found, error, read };
}

/** A list, and older pages of it on demand. `list`: gives a page of it. `older` is undefined at its end. */
export function usePages(list) {
  const [{ entries, hasMore }, setPages] = useState({ entries: undefined, hasMore: false });
  const { attempt, error } = useAttempt();
  const read = (known = []) =>
    attempt(async () => {
      const { data, has_more: more } = await list({ limit: 100, after: known.at(-1)?.id });
      setPages({ entries: [...known, ...data], hasMore: more });
    });
  useEffect(() => void read(), []);
  return { entries, error, attempt, read: () => read(), older: hasMore ? () => read(entries) : undefined };
}

/** Gives the same key for the same words as last time: sending them again after a lost answer does not ask twice. */
export function useOnce() {
  const last = useRef({});
  return (sent) => {
    if (last.current.sent !== sent) {
      last.current = { sent, key: crypto.randomUUID?.() ?? `${Date.now()}-${Math.random()}` };
    }
    return last.current.key;
  };
}

/** Looks now, and again after as many milliseconds as `look` gives, if any. It gets whether its view is still there. */
export function useLooking(look, depends) {
  useEffect(() => {
    let timer;
    let left = false;
    const again = async () => {
      const pause = await look(() => !left);
      if (!left && pause !== undefined) timer = setTimeout(again, pause);
    };
    void again();
    return () => {
      left = true;
      clearTimeout(timer);
    };
  }, depends);
}
