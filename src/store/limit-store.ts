import type {
  Awaitable,
  Budget,
  Counter,
  LimitHolder,
  LimitNote,
  LimitRelease,
  LimitRequest,
  LimitResult,
  LimitStore,
  Slots,
} from './limits.ts';
import { releaseOf } from './limits.ts';

type LimitParts = Pick<LimitStore, 'counter' | 'slots' | 'budget'>;

/** A limit store over counters, places and budgets, one of each name. */
export function limitStore(make: LimitParts): LimitStore {
  const counters = new Map<string, Counter>();
  const places = new Map<string, Slots>();
  const budgets = new Map<string, Budget>();
  const parts: LimitParts = {
    counter: (window) => oneOf(counters, window.name, () => make.counter(window)),
    slots: (options) => oneOf(places, options.name, () => make.slots(options)),
    budget: (window) => oneOf(budgets, window.name, () => make.budget(window)),
  };
  return {
    ...parts,
    take: (holder, requests) => takeAll(parts, holder, requests),
    async giveBack(holder, releases) {
      await giveAllBack(parts, holder, releases);
      return true;
    },
    note: (notes) => noteAll(parts, notes),
  };
}

function oneOf<T>(known: Map<string, T>, name: string, make: () => T): T {
  const one = known.get(name) ?? make();
  known.set(name, one);
  return one;
}

/** What is counted in this process is not waited for: every request comes by here. */
async function takeAll(
  parts: LimitParts,
  holder: LimitHolder,
  requests: readonly LimitRequest[],
): Promise<LimitResult[]> {
  const results: LimitResult[] = [];
  const undo = () => giveAllBack(parts, holder, requests.slice(0, results.length).reverse().map(releaseOf));
  for (const request of requests) {
    let result: LimitResult;
    try {
      const taking = takeOne(parts, holder, request);
      result = taking instanceof Promise ? await taking : taking;
    } catch (thrown) {
      await undo();
      throw thrown;
    }
    if (!result.granted) {
      await undo();
      results.push(result);
      return results;
    }
    results.push(result);
  }
  return results;
}

function takeOne(parts: LimitParts, holder: LimitHolder, request: LimitRequest): Awaitable<LimitResult> {
  const { key, id, lasting } = holder;
  const { limit } = request;
  switch (request.kind) {
    case 'place':
      return mapped(parts.slots(request).take(key, id, { limit, ttlMs: request.ttlMs, lasting }), (granted) => ({
        granted,
      }));
    case 'points':
      return mapped(parts.counter(request).take(key, request.points, { limit }), (count) => ({
        granted: count.granted,
        count,
      }));
    case 'budget': {
      const { points, ttlMs } = request;
      return mapped(parts.budget(request).reserve(key, id, { points, limit, ttlMs, lasting }), (count) => ({
        granted: count.granted,
        count,
        ...(!count.granted && { reservedByOthers: count.others }),
      }));
    }
  }
}

function mapped<T, R>(value: Awaitable<T>, to: (value: T) => R): Awaitable<R> {
  return value instanceof Promise ? value.then(to) : to(value);
}

async function giveAllBack(
  parts: LimitParts,
  { key, id }: LimitHolder,
  releases: readonly LimitRelease[],
): Promise<void> {
  for (const release of releases) {
    const giving = giveOneBack(parts, { key, id }, release);
    if (giving instanceof Promise) await giving;
  }
}

function giveOneBack(parts: LimitParts, { key, id }: LimitHolder, release: LimitRelease): Awaitable<void> {
  switch (release.kind) {
    case 'place':
      return parts.slots(release).release(key, id);
    case 'points':
      return parts.counter(release).giveBack(key, release.points);
    case 'budget':
      return parts.budget(release).settle(key, id, release);
  }
}

async function noteAll(parts: LimitParts, notes: readonly LimitNote[]): Promise<void> {
  for (const { holder, spent, ttlMs, ...window } of notes) {
    const noting = parts.budget(window).note(holder.key, holder.id, { spent, ttlMs });
    if (noting instanceof Promise) await noting;
  }
}
