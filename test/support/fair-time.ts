/**
 * Times as they would be on a machine of one's own. How fast a processor is, and how many others want it, is measured by
 * a loop that is run beside what is judged: a limit says something of the code, not of the machine.
 */

/** What the loop takes on the machine on which the limits were set, in milliseconds. */
const NOMINAL_MS = 20;
const ROUNDS = 15_000_000;
const LOOPS = 3;

/** This thread's own time that `work` takes, in milliseconds. */
export function ownMs(work: () => unknown): number {
  const before = process.threadCpuUsage();
  work();
  const { user, system } = process.threadCpuUsage(before);
  return (user + system) / 1000;
}

/** Systems count a thread's time in ticks of a few milliseconds: what is shorter is done again and again. */
const COUNTED_MS = 40;

/** This thread's own time that `work` takes once, in milliseconds and parts of them. */
export function preciseMs(work: () => unknown): number {
  for (let times = 1; ; times *= 4) {
    const ms = ownMs(() => {
      for (let time = 0; time < times; time++) work();
    });
    if (ms >= COUNTED_MS) return ms / times;
  }
}

/** What linear work takes at most for twice the text; the square takes four times as long. */
const MOST_FOR_TWICE = 2.5;
/** A busy machine is slow once, bad code every time. */
const GROWTH_ROUNDS = 3;

/** Whether work grows faster than its text: twice the text takes more than 2.5 times as long, twice in a row, each time. */
export function growsTooFast(workOn: (share: number) => () => unknown): boolean {
  const grows = () => {
    const half = preciseMs(workOn(1 / 2));
    if (preciseMs(workOn(1)) <= MOST_FOR_TWICE * half) return false;
    return half > MOST_FOR_TWICE * preciseMs(workOn(1 / 4));
  };
  return Array.from({ length: GROWTH_ROUNDS }).every(grows);
}

/** Milliseconds of processor time, less what a slow machine adds. */
export function fairOwnMs(ms: number): number {
  return ms / Math.max(1, median(() => ownMs(loop)) / NOMINAL_MS);
}

/** Milliseconds of the clock, less what a slow machine adds, or one with much else to do. */
export function fairMs(ms: number): number {
  return ms / Math.max(1, slowness());
}

/** How many times as long as on the machine on which the limits were set work takes now, by the clock. */
export function slowness(): number {
  const wall = () => {
    const began = performance.now();
    loop();
    return performance.now() - began;
  };
  return median(wall) / NOMINAL_MS;
}

/** Whether work takes longer than it may, by its processor time. */
export function isSlow(ms: number, limitMs: number): boolean {
  return ms > limitMs && fairOwnMs(ms) > limitMs;
}

function median(measure: () => number): number {
  const all = Array.from({ length: LOOPS }, measure).sort((a, b) => a - b);
  return all[Math.floor(LOOPS / 2)] ?? NOMINAL_MS;
}

/** As much memory as programs go over, so that neighbours in the processor's caches show. */
const field = new Uint32Array(64 * 1024);

function loop(): void {
  let at = 1;
  for (let round = 0; round < ROUNDS; round++) {
    at = (Math.imul(at, 1_103_515_245) + 12_345) >>> 0;
    field[at >>> 16] = (field[at >>> 16] ?? 0) + at;
  }
}
