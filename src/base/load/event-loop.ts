import { AsyncLocalStorage } from 'node:async_hooks';
import { channel } from 'node:diagnostics_channel';
import { setImmediate as turnOfLoop } from 'node:timers/promises';

/** Lets other pending work run. For work done in pieces, which would block everything else if done at once. */
export async function yieldToEventLoop(): Promise<void> {
  await turnOfLoop();
}

/** Who has parsed more bytes than this yields before the next step over them, so that each step is a turn of its own. */
export const LARGE_BYTES = 256 * 1024;

/** How long one slice may take, in milliseconds. */
const SLICE_MS = 4;
/** Steps between two reads of the clock, which costs more than most steps. */
const STEPS_PER_CLOCK_READ = 16;

/**
 * Calls `each` for each item, in slices between which other work runs. `stepsPerClockRead`: 1 if a single step may take
 * as long as a slice.
 */
export async function inSlices<T>(
  items: Iterable<T>,
  each: (item: T, index: number) => void,
  { stepsPerClockRead = STEPS_PER_CLOCK_READ } = {},
): Promise<void> {
  // A long step overruns the slice in which it begins.
  const sliceMs = stepsPerClockRead === 1 ? SLICE_MS / 2 : SLICE_MS;
  if (exceedsTurnShare(0)) await nextTurn();
  let startedAt = performance.now();
  let index = 0;
  for (const item of items) {
    each(item, index++);
    if (index % stepsPerClockRead !== 0 || performance.now() < startedAt + sliceMs) continue;
    endTurn(startedAt);
    await nextTurn();
    startedAt = performance.now();
  }
  endTurn(startedAt);
}

/** Does work whose cost grows with input from outside: now if this turn of the event loop has time left, else in a later turn. */
export async function runInTurn<T>(work: () => T): Promise<T> {
  if (exceedsTurnShare(0)) await nextTurn();
  const startedAt = performance.now();
  try {
    return work();
  } finally {
    endTurn(startedAt);
  }
}

/** Work that waits for a turn of the event loop, oldest first. Each turn does one piece, and more while its share lasts. */
const waiting: (() => void)[] = [];

function nextTurn(): Promise<void> {
  if (waiting.length === 0) setImmediate(serveNext);
  return new Promise((resolve) => waiting.push(resolve));
}

function serveNext(): void {
  waiting.shift()?.();
  if (waiting.length > 0) setImmediate(serveNext);
}

/** Counts the time since `startedAt`, and starts the next piece of work if this turn has time left. */
function endTurn(startedAt: number): void {
  if (!exceedsTurnShare(performance.now() - startedAt)) waiting.shift()?.();
}

/** Runs a generator to its end and returns its result: for work that is known to be short. */
export function drainSteps<T>(steps: Iterator<unknown, T>): T {
  for (;;) {
    const next = steps.next();
    if (next.done) return next.value;
  }
}

/** How much of one turn of the event loop all work that grows with input from outside may take, in milliseconds. */
const SHARE_MS = 4;
/** Shorter pieces, such as the chunks of a stream, are not counted; in milliseconds. */
const MIN_COUNTED_MS = 0.05;

let spentMs = 0;

/**
 * Counts a piece of work whose cost grows with input from outside. Returns true if this turn of the event loop has done
 * enough of it: however much arrives at once, other work runs before the rest.
 */
export function exceedsTurnShare(ms: number): boolean {
  if (ms < MIN_COUNTED_MS) return spentMs > SHARE_MS;
  if (spentMs === 0) setImmediate(() => (spentMs = 0));
  spentMs += ms;
  return spentMs > SHARE_MS;
}

/** On whose behalf work is done: the route of a request or the id of a run, and the id of its API key. */
export interface WorkScope {
  route?: string;
  run?: string;
  key?: string;
}

/** A step that blocked the event loop for long. */
export interface SlowStep extends WorkScope {
  /** What the step does, in a few words. */
  step: string;
  ms: number;
}

/** Steps that take longer are logged; in milliseconds. */
export const SLOW_MS = 200;

const scopes = new AsyncLocalStorage<WorkScope>();

/** Publishes slow steps, which `EventLoopMonitor` logs. */
export const slowStepChannel = channel('research-gateway:slow-step');

/** Does work on behalf of a request or a run: the log names it beside slow steps. */
export function runInScope<T>(scope: WorkScope, work: () => T): T {
  return scopes.run(scope, work);
}

/** The owner of the current work, by which limited resources are shared: its key, if there is one. */
export function workOwner(): string {
  const { key, run, route } = scopes.getStore() ?? {};
  return key ?? run ?? route ?? '';
}

/** Does a step whose cost grows with input from outside, and reports it if it was slow. `name`: what it does. */
export function measureStep<T>(name: string, work: () => T): T {
  const startedAt = performance.now();
  try {
    return work();
  } finally {
    reportIfSlow(name, performance.now() - startedAt);
  }
}

/** Reports a step that took `ms` milliseconds, if that is slow. */
export function reportIfSlow(name: string, ms: number): void {
  if (ms > SLOW_MS) slowStepChannel.publish({ step: name, ms, ...scopes.getStore() } satisfies SlowStep);
}
