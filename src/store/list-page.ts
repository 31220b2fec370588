import type { RunId } from '../base/ids.ts';
import type { ListQuery, RunSummary, TerminalStatus } from './run-store.ts';

/** Where a run stands in the order of creation; `tie` decides within one `at`, and is of one type in a store. */
export interface Position {
  at: number;
  tie: number | string;
}

/** The part of an index that is asked for: from behind `from` on, oldest or newest first. */
export interface IndexRange {
  newestFirst: boolean;
  from: Position | undefined;
  count: number;
}

/**
 * In which index of its user, interface and model a run stands. Open ones share one: they are few, and would move from
 * index to index.
 */
export type Bucket = 'open' | TerminalStatus;

export const BUCKETS: readonly Bucket[] = ['open', 'completed', 'failed', 'cancelled'];

/** Indexes of a user's runs of one interface: one over all, and one for each model and bucket. */
export interface RunIndexes<Entry extends Position> {
  /** The models that the user has or had runs of. */
  models(): Promise<readonly string[]>;
  position(id: RunId): Promise<Position | undefined>;
  entries(index: 'all' | { model: string; bucket: Bucket }, range: IndexRange): Promise<Entry[]>;
  /** What the entries' records say; undefined if there is none (any more), or an index was wrong. */
  summaries(entries: readonly Entry[]): Promise<readonly (RunSummary | undefined)[]>;
}

/** Entries asked of an index at once where some of them may not match. */
const LEAST_CHUNK = 50;

/** A page of a list; see `RunStore.list`. What is read is bound by the page and the number of models, not the history. */
export async function listPage<Entry extends Position>(
  query: ListQuery,
  indexes: RunIndexes<Entry>,
): Promise<{ runs: RunSummary[]; hasMore: boolean }> {
  const backwards = query.before !== undefined;
  const newestFirst = (query.order ?? 'desc') === 'desc' ? !backwards : backwards;
  const [from, until] = await Promise.all(
    [backwards ? query.before : query.after, backwards ? query.after : undefined].map(
      async (id) => id && ((await indexes.position(id)) ?? 'unknown'),
    ),
  );
  if (from === 'unknown' || until === 'unknown') return { runs: [], hasMore: false };

  const chosen = await choose(query, indexes);
  const order = (a: Position, b: Position) => (newestFirst ? compare(b, a) : compare(a, b));
  const wanted = query.limit + 1;
  const count = chosen === ALL ? wanted : Math.max(wanted, LEAST_CHUNK);
  const found: RunSummary[] = [];
  for (let position = from || undefined; ; ) {
    const range = { newestFirst, from: position, count };
    const lists = await Promise.all(chosen.map((index) => indexes.entries(index, range)));
    // Each list gave as many as there are or as were asked for: so many of all together leave out none.
    // A run that is just ending may stand in two of them.
    const merged = lists
      .flat()
      .sort(order)
      .filter((entry, index, all) => index === 0 || order(entry, all[index - 1] ?? entry) !== 0)
      .slice(0, count);
    const within = until ? merged.filter((entry) => order(entry, until) < 0) : merged;
    for (const run of await indexes.summaries(within)) if (run && matches(run, query)) found.push(run);
    position = merged.at(-1);
    if (found.length >= wanted || merged.length < count || within.length < merged.length) break;
  }
  const runs = found.slice(0, query.limit);
  return { runs: backwards ? runs.reverse() : runs, hasMore: found.length > query.limit };
}

const ALL = ['all'] as const;

/** The indexes that together hold whatever matches. */
async function choose<Entry extends Position>(query: ListQuery, indexes: RunIndexes<Entry>) {
  if (query.status === undefined && query.model === undefined) return ALL;
  const models = query.model === undefined ? await indexes.models() : [query.model];
  const buckets = new Set<Bucket>(query.status?.map(bucketOf) ?? BUCKETS);
  return models.flatMap((model) => [...buckets].map((bucket) => ({ model, bucket })));
}

export function bucketOf(status: RunSummary['status']): Bucket {
  return status === 'queued' || status === 'in_progress' ? 'open' : status;
}

function compare(a: Position, b: Position): number {
  if (a.at !== b.at) return a.at - b.at;
  return a.tie < b.tie ? -1 : a.tie > b.tie ? 1 : 0;
}

function matches(run: RunSummary, query: ListQuery): boolean {
  if (query.model !== undefined && run.model !== query.model) return false;
  return query.status === undefined || query.status.includes(run.status);
}
