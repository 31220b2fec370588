import { runOf } from '../app.js';
import { useLayoutEffect, useMemo, useState } from '../lib/preact.js';

/** The session of a run; the view is drawn again with each change. */
export function useRun(id) {
  const [, draw] = useState(0);
  const session = useMemo(() => runOf(id), [id]);
  useLayoutEffect(() => {
    const stop = session.listen(() => draw((n) => n + 1));
    // The session may have changed since the view was drawn.
    draw((n) => n + 1);
    return stop;
  }, [session]);
  return session;
}
