import { slowness } from './fair-time.ts';

/** Tests of a parallel run share their cores with others, and with the processes that those start. */
const BESIDE_OTHERS = process.argv.some((part) => part === '--parallel' || part.endsWith('worker.cjs')) ? 4 : 1;

/** How slow the machine is changes while tests run; to measure it takes a while, too. */
const MEASURED_FOR_MS = 60_000;
let measured = { at: Number.NEGATIVE_INFINITY, slow: 1 };

/**
 * Milliseconds that a test may take which needs at most `seconds` alone on the machine on which the limits were set: nine
 * times as long beside eight others on one core, four times as long in a parallel run.
 */
export function patience(seconds: number): number {
  const at = performance.now();
  if (at - measured.at > MEASURED_FOR_MS) measured = { at, slow: Math.max(1, slowness()) };
  return Math.ceil(seconds * 1000 * measured.slow * BESIDE_OTHERS);
}
