import type { RunRecord } from '../../runs/runs.ts';
import type { LogBatch } from '../../store/run-store.ts';
import type { AppDeps } from '../app-deps.ts';
import type { RequestContext } from '../request-context.ts';
import type { LiveChunks } from './sse.ts';

/** The frames of a run after `after`, first the stored ones and then live. Ends early when the request's signal aborts. */
export function readFrames(
  { runs, stopping }: AppDeps,
  run: RunRecord,
  { after, context }: { after: number; context: RequestContext },
): LiveChunks {
  const { signal } = context;
  return async function* (pass) {
    try {
      let hasEnded = false;
      const deliver = ({ frames, end }: LogBatch) => {
        const passed = pass(frames, end);
        hasEnded ||= passed && end;
        return passed;
      };
      for await (const batch of runs.follow(run, { after, signal, deliver })) {
        hasEnded ||= batch.end;
        yield batch.frames;
      }
      if (!hasEnded && stopping.aborted) context.error = 'shutting_down';
    } catch (thrown) {
      // After a disconnect, or when the key was removed, the stream ends without a terminal event.
      if (!signal.aborted) throw thrown;
    }
  };
}
