import {
  type Awaitable,
  type Count,
  type CounterWindow,
  type LimitBudget,
  type LimitHolder,
  type LimitRelease,
  type LimitRequest,
  type LimitResult,
  type LimitStore,
  type ReservationResult,
  releaseOf,
} from './limit-store.ts';

type LimitParts = Pick<LimitStore, 'counter' | 'slots' | 'budget'>;

/** Composes a limit store from counters, slots and budgets, one of each per name. */
export function composeLimitStore<Budget extends LimitBudget>(
  make: Omit<LimitParts, 'budget'> & { budget(window: CounterWindow): Budget },
): Omit<LimitStore, 'budget'> & { budget(window: CounterWindow): Budget } {
  const parts = {
    counter: memoizeByName(make.counter),
    slots: memoizeByName(make.slots),
    budget: memoizeByName(make.budget),
  };
  const release = async (holder: LimitHolder, releases: readonly LimitRelease[]): Promise<boolean> => {
    for (const release of releases) {
      const released = releaseOne(parts, holder, release);
      if (released instanceof Promise) await released;
    }
    return true;
  };
  return {
    ...parts,
    release,
    async take(holder, requests) {
      const results: LimitResult[] = [];
      const undo = () => {
        const granted = requests.filter((_, index) => results[index]?.granted);
        return release(holder, granted.reverse().map(releaseOf));
      };
      try {
        for (const request of requests) {
          const taken = takeOne(parts, holder, request);
          const result = taken instanceof Promise ? await taken : taken;
          results.push(result);
          if (!result.granted) break;
        }
      } catch (thrown) {
        await undo();
        throw thrown;
      }
      if (results.at(-1)?.granted === false) await undo();
      return results;
    },
    async note(notes) {
      // All are under way before the caller writes what follows, such as the end of a run.
      await Promise.all(
        notes.map(({ holder, spent, ttlMs, ...window }) =>
          parts.budget(window).note(holder.key, holder.id, { spent, ttlMs }),
        ),
      );
    },
  };
}

function memoizeByName<Options extends { name: string }, T>(make: (options: Options) => T): (options: Options) => T {
  const known = new Map<string, T>();
  return (options) => known.getOrInsertComputed(options.name, () => make(options));
}

export function takeOne(parts: LimitParts, holder: LimitHolder, request: LimitRequest): Awaitable<LimitResult> {
  const { id, lasting } = holder;
  const { limit, owner: key = holder.key } = request;
  switch (request.kind) {
    case 'place': {
      const place = parts.slots(request).take(key, id, { limit, ttlMs: request.ttlMs, lasting });
      return onceThere(place, (granted) => ({ granted }));
    }
    case 'points':
      return onceThere(parts.counter(request).take(key, request.points, { limit }), countedResult);
    case 'budget': {
      const { points, ttlMs } = request;
      return onceThere(parts.budget(request).reserve(key, id, { points, limit, ttlMs, lasting }), reservedResult);
    }
  }
}

/** Reads what is counted in this process without a promise, which would cost more than the counting. */
function onceThere<T, R>(value: Awaitable<T>, read: (value: T) => R): Awaitable<R> {
  return value instanceof Promise ? value.then(read) : read(value);
}

function countedResult(count: Count & { granted: boolean }): LimitResult {
  return { granted: count.granted, count };
}

function reservedResult(count: ReservationResult): LimitResult {
  return count.granted ? countedResult(count) : { ...countedResult(count), reservedByOthers: count.others };
}

function releaseOne(parts: LimitParts, holder: LimitHolder, release: LimitRelease): Awaitable<void> {
  const { id } = holder;
  const { owner: key = holder.key } = release;
  if (release.kind === 'place') return parts.slots(release).release(key, id);
  if (release.kind === 'points') return parts.counter(release).refund(key, release.points);
  return parts.budget(release).settle(key, id, release);
}
