import { app } from '../app.js';
import { useEffect, useState } from '../lib/preact.js';

/** A run that goes on is asked for its times at most so often, in milliseconds. */
const PAUSE_MS = 3000;
/** Timelines of runs that ended, which change no more. */
const MAX_KEPT = 6;
const kept = new Map();

/** The timeline of a run as far as it is known, `{timeline, error}`; read again as the run gets further. */
export function useTimeline(session, wanted = true) {
  const { id, state } = session;
  const [shown, setShown] = useState({ timeline: kept.get(id) ?? null, error: null, at: 0 });
  const done = state.items.filter((item) => item?.done).length;
  const { ended } = state;
  useEffect(() => {
    if (!wanted || kept.has(id)) return;
    let left = false;
    const read = async () => {
      const at = Date.now();
      try {
        const timeline = await app.value.client.timeline(id);
        if (ended) kept.set(id, timeline);
        if (kept.size > MAX_KEPT) kept.delete(kept.keys().next().value);
        if (!left) setShown({ timeline, error: null, at });
      } catch (error) {
        if (!left) setShown((before) => ({ ...before, error, at }));
      }
    };
    const timer = setTimeout(read, Math.max(0, shown.at + PAUSE_MS - Date.now()));
    return () => {
      left = true;
      clearTimeout(timer);
    };
  }, [id, wanted, done, ended]);
  return shown;
}
