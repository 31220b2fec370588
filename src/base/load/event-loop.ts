import { AsyncLocalStorage } from 'node:async_hooks';
import { channel } from 'node:diagnostics_channel';
import { setImmediate as turnOfLoop } from 'node:timers/promises';

/** Lets everything else that waits have a turn: for work in pieces, whose whole would hold up everybody. */
export async function yieldToEventLoop(): Promise<void> {
  await turnOfLoop();
}

/** How long a slice of `inSlices` may take, in milliseconds. */
const SLICE_MS = 4;
/** Looking at the clock costs more than many a step. */
const STEPS_A_LOOK = 16;

/**
 * Does a step for each item, in slices between which everything else has its turn. `stepsALook`: steps between two looks
 * at the clock; 1 where a step may take as long as a slice.
 */
export async function inSlices<T>(
  items: Iterable<T>,
  each: (item: T, index: number) => void,
  { stepsALook = STEPS_A_LOOK } = {},
): Promise<void> {
  // A step that may be long ends behind the slice that it begins in.
  const sliceMs = stepsALook === 1 ? SLICE_MS / 2 : SLICE_MS;
  if (hadItsShare(0)) await nextTurn();
  let began = performance.now();
  let index = 0;
  for (const item of items) {
    each(item, index++);
    if (index % stepsALook !== 0 || performance.now() < began + sliceMs) continue;
    endTurn(began);
    await nextTurn();
    began = performance.now();
  }
  endTurn(began);
}

/** Does a work whose cost grows with what came from outside where this turn of the event loop has time for it, else in a later one. */
export async function inItsTurn<T>(work: () => T): Promise<T> {
  if (hadItsShare(0)) await nextTurn();
  const began = performance.now();
  try {
    return work();
  } finally {
    endTurn(began);
  }
}

/** Works that wait for a turn of the event loop: each turn does one, and more while its share lasts, the longest waiting first. */
const waiting: (() => void)[] = [];

function nextTurn(): Promise<void> {
  if (waiting.length === 0) setImmediate(serveNext);
  return new Promise((resolve) => waiting.push(resolve));
}

function serveNext(): void {
  waiting.shift()?.();
  if (waiting.length > 0) setImmediate(serveNext);
}

/** Counts a work that has had its turn since `began`. Where something of the share is left the next one has it. */
function endTurn(began: number): void {
  if (!hadItsShare(performance.now() - began)) waiting.shift()?.();
}

/** Takes all steps of a work at once, for one that is known to be short; gives its result. */
export function allSteps<T>(steps: Iterator<unknown, T>): T {
  for (;;) {
    const step = steps.next();
    if (step.done) return step.value;
  }
}

/** What works that grow with what came from outside may take of one turn of the event loop together, in milliseconds. */
const SHARE_MS = 4;
/** Pieces that take less are what streams are made of: they are not counted, in milliseconds. */
const SMALL_MS = 0.05;

let spentMs = 0;

/**
 * Counts a piece of work whose cost grows with what came from outside. True where this turn of the event loop had enough
 * of it: however much comes at once, everything else has its turn before the rest is done.
 */
export function hadItsShare(ms: number): boolean {
  if (ms < SMALL_MS) return spentMs > SHARE_MS;
  if (spentMs === 0) setImmediate(() => (spentMs = 0));
  spentMs += ms;
  return spentMs > SHARE_MS;
}

/** What work is done for: the route of a request, or the id of a run, and the id of the API key that asked for it. */
export interface WorkScope {
  route?: string;
  run?: string;
  key?: string;
}

/** A step that held the event loop for long. */
export interface SlowStep extends WorkScope {
  /** What it did, in a few words. */
  step: string;
  ms: number;
}

/** A step that takes longer is logged, in milliseconds. */
export const SLOW_MS = 200;

const scopes = new AsyncLocalStorage<WorkScope>();

/** Tells of slow steps; see `LoopWatch`. */
export const slowSteps = channel('research-gateway:slow-step');

/** Does work for a request or a run: slow steps in it are logged with its name. */
export function workFor<T>(scope: WorkScope, work: () => T): T {
  return scopes.run(scope, work);
}

/** Who the work is done for that is going on: the key, where there is one. Places that are shared go by it. */
export function workOwner(): string {
  const { key, run, route } = scopes.getStore() ?? {};
  return key ?? run ?? route ?? '';
}

/** Does a step whose cost grows with what came from outside, and tells of it where it was slow. */
export function step<T>(what: string, work: () => T): T {
  const began = performance.now();
  try {
    return work();
  } finally {
    toldIfSlow(what, performance.now() - began);
  }
}

/** Tells of a step that took so many milliseconds, where that was long. */
export function toldIfSlow(what: string, ms: number): void {
  if (ms > SLOW_MS) slowSteps.publish({ step: what, ms, ...scopes.getStore() } satisfies SlowStep);
}
