import type { RunRecord } from '../runs/runs.ts';
import type { AppDeps } from './app-deps.ts';
import type { RequestContext } from './request-context.ts';

/** The stored frames of a run after `after`, then live, as bytes to be copied. Ends early when the client leaves. */
export async function* framesOf(
  { runs }: AppDeps,
  run: RunRecord,
  { after, context }: { after: number; context: RequestContext },
): AsyncGenerator<Uint8Array, void> {
  for await (const batch of runs.follow(run, { after, signal: context.signal })) yield batch.frames;
}

/** A stream of nothing. */
export async function* nothing(): AsyncGenerator<Uint8Array, void> {}
