import { type Awaitable, after } from '../base/awaitable.ts';
import {
  type Count,
  type Counter,
  type LimitBudget,
  type LimitHolder,
  type LimitRelease,
  type LimitRequest,
  type LimitResult,
  type LimitStore,
  type Reserved,
  releaseOf,
  type Slots,
} from './limit-store.ts';

/** What limits are counted by. */
export interface LimitParts {
  counter(...args: Parameters<LimitStore['counter']>): Counter;
  slots(...args: Parameters<LimitStore['slots']>): Slots;
  budget(...args: Parameters<LimitStore['budget']>): LimitBudget;
}

/** A limit store over counters, places and budgets, one of each name. Where all of these answer at once, so does it. */
export function limitStore(make: LimitParts): LimitStore {
  const parts: LimitParts = {
    counter: oneOfEachName(make.counter),
    slots: oneOfEachName(make.slots),
    budget: oneOfEachName(make.budget),
  };
  const giveBack = (holder: LimitHolder, releases: readonly LimitRelease[]): Awaitable<boolean> => {
    const given = inTurn(releases, (release) => giveOneBack(parts, holder, release));
    return after(given, () => true);
  };
  return {
    ...parts,
    giveBack,
    take(holder, requests) {
      const results: LimitResult[] = [];
      const granted = () => requests.filter((_, at) => results[at]?.granted);
      const isRefused = () => results.at(-1)?.granted === false;
      const takeNext = (request: LimitRequest) =>
        isRefused() || after(takeOne(parts, holder, request), (result) => results.push(result));
      const undo = () => giveBack(holder, granted().reverse().map(releaseOf));
      const taken = orUndo(() => inTurn(requests, takeNext), undo);
      return after(taken, () => after(isRefused() && undo(), () => results));
    },
    async note(notes) {
      for (const { holder, spent, ttlMs, ...window } of notes) {
        await parts.budget(window).note(holder.key, holder.id, { spent, ttlMs });
      }
    },
  };
}

/** Does work for one after the other: at once as long as it is done at once. */
function inTurn<T>(items: readonly T[], work: (item: T) => Awaitable<unknown>): Awaitable<unknown> {
  for (const [at, item] of items.entries()) {
    const done = work(item);
    if (done instanceof Promise) return done.then(() => inTurn(items.slice(at + 1), work));
  }
}

/** Undoes what was done before a work that fails. @throws as it does. */
function orUndo<T>(work: () => Awaitable<T>, undo: () => Awaitable<unknown>): Awaitable<T> {
  const failed = async (thrown: unknown): Promise<never> => {
    await undo();
    throw thrown;
  };
  try {
    const done = work();
    return done instanceof Promise ? done.catch(failed) : done;
  } catch (thrown) {
    return failed(thrown);
  }
}

function oneOfEachName<Options extends { name: string }, T>(make: (options: Options) => T): (options: Options) => T {
  const known = new Map<string, T>();
  return (options) => {
    const one = known.get(options.name) ?? make(options);
    known.set(options.name, one);
    return one;
  };
}

function takeOne(parts: LimitParts, holder: LimitHolder, request: LimitRequest): Awaitable<LimitResult> {
  const { id, lasting } = holder;
  const { limit, owner: key = holder.key } = request;
  switch (request.kind) {
    case 'place': {
      const { ttlMs } = request;
      return after(parts.slots(request).take(key, id, { limit, ttlMs, lasting }), (granted) => ({ granted }));
    }
    case 'points':
      return after(parts.counter(request).take(key, request.points, { limit }), countedResult);
    case 'budget': {
      const { points, ttlMs } = request;
      return after(parts.budget(request).reserve(key, id, { points, limit, ttlMs, lasting }), reservedResult);
    }
  }
}

function countedResult(count: Count & { granted: boolean }): LimitResult {
  return { granted: count.granted, count };
}

function reservedResult(count: Reserved): LimitResult {
  return count.granted ? countedResult(count) : { ...countedResult(count), reservedByOthers: count.others };
}

function giveOneBack(parts: LimitParts, holder: LimitHolder, release: LimitRelease): Awaitable<void> {
  const { id } = holder;
  const { owner: key = holder.key } = release;
  if (release.kind === 'place') return parts.slots(release).release(key, id);
  if (release.kind === 'points') return parts.counter(release).giveBack(key, release.points);
  return parts.budget(release).settle(key, id, release);
}
