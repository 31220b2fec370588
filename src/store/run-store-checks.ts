import type { AppendBatch } from './run-store.ts';

/** Rejects an append that is a programming error. @throws TypeError naming the field. */
export function checkAppend(batch: AppendBatch): void {
  if (!Number.isInteger(batch.first) || batch.first < 1) throw new TypeError('append: first must be 1 or more');
  if (!Number.isInteger(batch.count) || batch.count < 0) throw new TypeError('append: count must be 0 or more');
  if (batch.count === 0 && batch.frames.length > 0) throw new TypeError('append: frames without a count');
  if (batch.count === 0 && batch.end) throw new TypeError('append: the end needs its terminal frame');
}
