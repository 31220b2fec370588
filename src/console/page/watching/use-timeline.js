import { app } from '../app.js';
import { useEffect, useRef, useState } from '../lib/preact.js';

/** How often the times of an active run are read at most, in milliseconds. */
const PAUSE_MS = 3000;
/** When they are read again after a failure, in milliseconds. */
const RETRY_MS = 10_000;
/** How many timelines of ended runs are cached. */
const MAX_CACHED = 6;

/** The timeline of a run so far, `{timeline, error}`; read again as the run progresses. */
export function useTimeline(session, wanted = true) {
  const { id, state } = session;
  const { client } = app.value;
  const cached = client.timelines;
  const [loaded, setLoaded] = useState({ timeline: cached.get(id) ?? null, error: null, at: 0 });
  const current = useRef(id);
  current.current = id;
  const done = state.items.filter((item) => item?.done).length;
  const { ended } = state;
  useEffect(() => {
    if (!wanted || cached.has(id)) return;
    let isMounted = true;
    const read = async () => {
      const at = Date.now();
      try {
        const timeline = await client.responses.part(id, 'timeline');
        if (ended) cached.set(id, timeline);
        if (cached.size > MAX_CACHED) cached.delete(cached.keys().next().value);
        if (current.current === id) setLoaded((before) => (before.at > at ? before : { timeline, error: null, at }));
      } catch (error) {
        if (current.current !== id) return;
        setLoaded((before) => ({ ...before, error, at }));
        if (isMounted) timer = setTimeout(read, RETRY_MS);
      }
    };
    let timer = setTimeout(read, Math.max(0, loaded.at + PAUSE_MS - Date.now()));
    return () => {
      isMounted = false;
      clearTimeout(timer);
    };
  }, [id, wanted, done, ended]);
  return loaded;
}
