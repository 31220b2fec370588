import { useEffect, useRef, useState } from '../lib/preact.js';

/** Runs requests that may fail: `attempt(work)`. `busy` while one runs; `error`: why the last one failed. */
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
 * What `load` resolves to; loaded again when one of `depends` changes, or by `read`. The old value stays meanwhile. A value
 * that arrives after a newer request is dropped.
 */
export function useRequest(load, depends) {
  const [{ found, error }, setState] = useState({ found: null, error: null });
  const latest = useRef(0);
  const read = () => {
    latest.current += 1;
    const own = latest.current;
    const update = (change) => own === latest.current && setState((before) => ({ ...before, ...change }));
    update({ error: null });
    load().then(
      (answer) => update({ found: answer }),
      (thrown) => update({ error: thrown }),
    );
  };
  useEffect(() => {
    read();
    return () => {
      latest.current += 1;
    };
  }, depends);
  return { found, error, read };
}

/** A list, and older pages of it on demand. `list` loads a page; `older` is undefined at the end of the list. */
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

/** The same key for the same body as last time: sending it again after a lost answer starts no second run. */
export function useIdempotencyKey() {
  const last = useRef({});
  return (sent) => {
    if (last.current.sent !== sent) {
      last.current = { sent, key: crypto.randomUUID?.() ?? `${Date.now()}-${Math.random()}` };
    }
    return last.current.key;
  };
}

/** Calls `poll` now, and again after the milliseconds that it resolves to, if any. `poll` gets `isMounted`. */
export function usePolling(poll, depends) {
  useEffect(() => {
    let timer;
    let isMounted = true;
    const again = async () => {
      const pause = await poll(() => isMounted);
      if (isMounted && pause !== undefined) timer = setTimeout(again, pause);
    };
    void again();
    return () => {
      isMounted = false;
      clearTimeout(timer);
    };
  }, depends);
}
