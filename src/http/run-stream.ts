import type { RunRecord } from '../runs/runs.ts';
import type { Floor } from './parts.ts';
import type { Visit } from './visit.ts';

/** The stored frames of a run after `after`, then live, as bytes to be copied. Ends early when the client leaves. */
export async function* framesOf(
  { runs }: Floor,
  run: RunRecord,
  { after, visit }: { after: number; visit: Visit },
): AsyncGenerator<Uint8Array, void> {
  for await (const batch of runs.follow(run, { after, signal: visit.signal })) yield batch.frames;
}

/** A stream of nothing. */
export async function* nothing(): AsyncGenerator<Uint8Array, void> {}
