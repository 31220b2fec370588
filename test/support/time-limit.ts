import { slowness } from './fair-time.ts';

/** In a parallel run tests share the cores with others, and with the processes that those start. */
const BESIDE_OTHERS = process.argv.some((part) => part === '--parallel' || part.endsWith('worker.cjs')) ? 4 : 1;

/**
 * How long a measurement of the machine's slowness is reused: it changes during a run, but measuring takes time. The hook
 * before each test measures sooner than tests do, since a measurement holds the event loop, and short limits run out.
 */
const MEASURED_FOR_MS = 300_000;
export const BETWEEN_TESTS_MS = 60_000;
let measured = { at: Number.NEGATIVE_INFINITY, slow: 1 };

/**
 * The time limit in milliseconds for a test that needs at most `seconds` alone on the machine on which the limits were
 * set: nine times as long beside eight others on one core, four times as long in a parallel run.
 */
export function patience(seconds: number, measuredForMs = MEASURED_FOR_MS): number {
  const at = performance.now();
  if (at - measured.at > measuredForMs) measured = { at, slow: Math.max(1, slowness()) };
  return Math.ceil(seconds * 1000 * measured.slow * BESIDE_OTHERS);
}
