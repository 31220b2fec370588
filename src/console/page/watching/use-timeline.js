import { app } from '../app.js';
import { useEffect, useRef, useState } from '../lib/preact.js';

/** A run that goes on is asked for its times at most so often, in milliseconds. */
const PAUSE_MS = 3000;
/** When it is asked again after a failure, in milliseconds. */
const RETRY_MS = 10_000;
/** Timelines of runs that ended, which change no more. */
const MAX_KEPT = 6;

/** The timeline of a run as far as it is known, `{timeline, error}`; read again as the run gets further. */
export function useTimeline(session, wanted = true) {
  const { id, state } = session;
  const { client } = app.value;
  const kept = client.timelines;
  const [shown, setShown] = useState({ timeline: kept.get(id) ?? null, error: null, at: 0 });
  const current = useRef(id);
  current.current = id;
  const done = state.items.filter((item) => item?.done).length;
  const { ended } = state;
  useEffect(() => {
    if (!wanted || kept.has(id)) return;
    let left = false;
    const read = async () => {
      const at = Date.now();
      try {
        const timeline = await client.responses.part(id, 'timeline');
        if (ended) kept.set(id, timeline);
        if (kept.size > MAX_KEPT) kept.delete(kept.keys().next().value);
        if (current.current === id) setShown((before) => (before.at > at ? before : { timeline, error: null, at }));
      } catch (error) {
        if (current.current !== id) return;
        setShown((before) => ({ ...before, error, at }));
        if (!left) timer = setTimeout(read, RETRY_MS);
      }
    };
    let timer = setTimeout(read, Math.max(0, shown.at + PAUSE_MS - Date.now()));
    return () => {
      left = true;
      clearTimeout(timer);
    };
  }, [id, wanted, done, ended]);
  return shown;
}
