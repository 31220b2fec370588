import type { RunRecord } from '../../runs/runs.ts';
import type { AppDeps } from '../app-deps.ts';
import type { RequestContext } from '../request-context.ts';
import type { LiveChunks } from './sse.ts';

/** The frames of a run after `after`, first the stored ones and then live. Ends early when the request's signal aborts. */
export function readFrames(
  { runs }: AppDeps,
  run: RunRecord,
  { after, context }: { after: number; context: RequestContext },
): LiveChunks {
  const { signal } = context;
  return async function* (pass) {
    try {
      const batches = runs.follow(run, { after, signal, deliver: ({ frames, end }) => pass(frames, end) });
      for await (const batch of batches) yield batch.frames;
    } catch (thrown) {
      // After a disconnect, or when the key was removed, the stream ends without a terminal event.
      if (!signal.aborted) throw thrown;
    }
  };
}
