/**
 * Time limits that do not depend on the machine. A reference loop that runs beside the code under test measures how fast
 * and how busy the CPU is, so that a limit judges the code and not the machine.
 */

/** The duration of the reference loop on the machine on which the limits were set, in milliseconds. */
const NOMINAL_MS = 20;
const ROUNDS = 15_000_000;
const LOOPS = 3;

/** The CPU time of this thread that `work` takes, in milliseconds. */
export function ownMs(work: () => unknown): number {
  const before = process.threadCpuUsage();
  work();
  const { user, system } = process.threadCpuUsage(before);
  return (user + system) / 1000;
}

/** Work is repeated until it takes this long: most systems count CPU time in ticks of a few milliseconds, Linux does not. */
const COUNTED_MS = process.platform === 'linux' ? 5 : 20;

/** The CPU time of this thread that `work` takes once, in fractional milliseconds. */
export function preciseMs(work: () => unknown): number {
  for (let times = 1; ; ) {
    const ms = ownMs(() => {
      for (let time = 0; time < times; time++) work();
    });
    if (ms >= COUNTED_MS) return ms / times;
    // A little more than what is missing; a first time may be slow, and a tick too short to be seen.
    times *= Math.min(16, Math.ceil((1.2 * COUNTED_MS) / Math.max(ms, 1)));
  }
}

/** How much longer linear work may take for twice the text; quadratic work takes four times as long. */
const MOST_FOR_TWICE = 2.5;
/** Number of attempts: a busy machine is slow once, bad code every time. */
const GROWTH_ROUNDS = 3;

/** Whether work grows faster than its text: two doublings of the text each take more than 2.5 times as long, in every attempt. */
export function growsTooFast(workOn: (share: number) => () => unknown): boolean {
  const grows = () => {
    // The longest first: code that is still cold then counts against the work.
    const whole = preciseMs(workOn(1));
    const half = preciseMs(workOn(1 / 2));
    if (whole <= MOST_FOR_TWICE * half) return false;
    return half > MOST_FOR_TWICE * preciseMs(workOn(1 / 4));
  };
  return Array.from({ length: GROWTH_ROUNDS }).every(grows);
}

/** CPU time in milliseconds, corrected for a slow machine. */
export function fairOwnMs(ms: number): number {
  return ms / Math.max(1, median(() => ownMs(loop)) / NOMINAL_MS);
}

/** Wall time in milliseconds, corrected for a slow or busy machine. */
export function fairMs(ms: number): number {
  return ms / Math.max(1, slowness());
}

/** How many times slower work is now than on the machine on which the limits were set, by wall time. */
export function slowness(): number {
  const wall = () => {
    const began = performance.now();
    loop();
    return performance.now() - began;
  };
  return median(wall) / NOMINAL_MS;
}

/** Whether work exceeds its limit of CPU time. */
export function isSlow(ms: number, limitMs: number): boolean {
  return ms > limitMs && fairOwnMs(ms) > limitMs;
}

function median(measure: () => number): number {
  const all = Array.from({ length: LOOPS }, measure).sort((a, b) => a - b);
  return all[Math.floor(LOOPS / 2)] ?? NOMINAL_MS;
}

/** The memory that the loop reads: enough to measure contention for the CPU's caches. */
const field = new Uint32Array(64 * 1024);

function loop(): void {
  let at = 1;
  for (let round = 0; round < ROUNDS; round++) {
    at = (Math.imul(at, 1_103_515_245) + 12_345) >>> 0;
    field[at >>> 16] = (field[at >>> 16] ?? 0) + at;
  }
}
