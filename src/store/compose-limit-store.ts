import {
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
    for (const release of releases) await releaseOne(parts, holder, release);
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
          const result = await takeOne(parts, holder, request);
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

/** Takes one limit for a holder. */
export async function takeOne(parts: LimitParts, holder: LimitHolder, request: LimitRequest): Promise<LimitResult> {
  const { id, lasting } = holder;
  const { limit, owner: key = holder.key } = request;
  switch (request.kind) {
    case 'place':
      return { granted: await parts.slots(request).take(key, id, { limit, ttlMs: request.ttlMs, lasting }) };
    case 'points':
      return countedResult(await parts.counter(request).take(key, request.points, { limit }));
    case 'budget': {
      const { points, ttlMs } = request;
      return reservedResult(await parts.budget(request).reserve(key, id, { points, limit, ttlMs, lasting }));
    }
  }
}

function countedResult(count: Count & { granted: boolean }): LimitResult {
  return { granted: count.granted, count };
}

function reservedResult(count: ReservationResult): LimitResult {
  return count.granted ? countedResult(count) : { ...countedResult(count), reservedByOthers: count.others };
}

async function releaseOne(parts: LimitParts, holder: LimitHolder, release: LimitRelease): Promise<void> {
  const { id } = holder;
  const { owner: key = holder.key } = release;
  if (release.kind === 'place') await parts.slots(release).release(key, id);
  else if (release.kind === 'points') await parts.counter(release).refund(key, release.points);
  else await parts.budget(release).settle(key, id, release);
}
