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
  const giveBack = (holder: LimitHolder, releases: readonly LimitRelease[], from = 0): Awaitable<boolean> => {
    const release = releases[from];
    if (!release) return true;
    return after(giveOneBack(parts, holder, release), () => giveBack(holder, releases, from + 1));
  };
  const take = (
    holder: LimitHolder,
    requests: readonly LimitRequest[],
    results: LimitResult[] = [],
  ): Awaitable<LimitResult[]> => {
    const request = requests[results.length];
    if (!request) return results;
    const undo = () => giveBack(holder, requests.slice(0, results.length).reverse().map(releaseOf));
    return after(
      orUndo(() => takeOne(parts, holder, request), undo),
      (result) =>
        after(result.granted || undo(), () => {
          results.push(result);
          return result.granted ? take(holder, requests, results) : results;
        }),
    );
  };
  return {
    ...parts,
    take: (holder, requests) => take(holder, requests),
    giveBack: (holder, releases) => giveBack(holder, releases),
    async note(notes) {
      for (const { holder, spent, ttlMs, ...window } of notes) {
        await parts.budget(window).note(holder.key, holder.id, { spent, ttlMs });
      }
    },
  };
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
