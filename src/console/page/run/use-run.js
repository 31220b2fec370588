import { runOf } from '../app.js';
import { useLayoutEffect, useMemo, useState } from '../lib/preact.js';

/** A run as the page follows it; the view is drawn again as it goes on. */
export function useRun(id) {
  const [, draw] = useState(0);
  const session = useMemo(() => runOf(id), [id]);
  useLayoutEffect(() => {
    const stop = session.listen(() => draw((n) => n + 1));
    // What came between drawing and listening.
    draw((n) => n + 1);
    return stop;
  }, [session]);
  return session;
}
