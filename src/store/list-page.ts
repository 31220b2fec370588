import type { RunId } from '../base/ids.ts';
import { isObject, parseJson } from '../base/json.ts';
import type { ListedStatus, ListQuery, RunCursor, RunSummary } from './run-store.ts';

/** The position of a run in order of creation. `tie` orders runs of the same `at`; a store uses one type of it. */
export interface ListPosition {
  at: number;
  tie: number | string;
}

/** A range of an index: `count` entries that follow `from`, in the given direction. */
export interface IndexRange {
  newestFirst: boolean;
  from: ListPosition | undefined;
  count: number;
}

/**
 * The index of a run within its user, interface and model. Open runs, which are few and would move often, share one.
 */
export type Bucket = 'open' | Exclude<ListedStatus, 'queued' | 'in_progress'>;

export const BUCKETS: readonly Bucket[] = ['open', 'completed', 'incomplete', 'failed', 'cancelled'];

/** The indexes of a user's runs of one interface: one of all runs, and one for each model and bucket. */
export interface RunIndexes<Entry extends ListPosition> {
  /** The models of the user's present and former runs. */
  models(): Promise<readonly string[]>;
  position(id: RunId): Promise<ListPosition | undefined>;
  /** A position before (or else after) all runs that were created in this millisecond. */
  edge(createdAt: number, side: 'before' | 'after'): ListPosition;
  entries(index: 'all' | { model: string; bucket: Bucket }, range: IndexRange): Promise<Entry[]>;
  /** The summaries of the entries; undefined for an entry whose run is gone or that the index should not have. */
  summaries(entries: readonly Entry[]): Promise<readonly (RunSummary | undefined)[]>;
}

/** Fewest entries to read from an index at once if some of them may not match. */
const MIN_CHUNK = 50;

/** Reads a page of a list; see `RunStore.list`. The cost depends on the page and the number of models only. */
export async function listPage<Entry extends ListPosition>(
  query: ListQuery,
  indexes: RunIndexes<Entry>,
): Promise<{ runs: RunSummary[]; hasMore: boolean }> {
  const isBackwards = query.before !== undefined;
  const newestFirst = (query.order ?? 'desc') === 'desc' ? !isBackwards : isBackwards;
  const position = async ({ id, createdAt }: RunCursor, side: 'before' | 'after') =>
    (await indexes.position(id)) ?? indexes.edge(createdAt, side);
  const start = isBackwards ? query.before : query.after;
  const from = start && (await position(start, newestFirst ? 'after' : 'before'));
  const until = isBackwards && query.after && (await position(query.after, newestFirst ? 'before' : 'after'));

  const chosen = await chooseIndexes(query, indexes);
  const order = (a: ListPosition, b: ListPosition) => (newestFirst ? comparePositions(b, a) : comparePositions(a, b));
  const wanted = query.limit + 1;
  const count = chosen === ALL ? wanted : Math.max(wanted, MIN_CHUNK);
  const found: RunSummary[] = [];
  for (let last = from; ; ) {
    const range = { newestFirst, from: last, count };
    const lists = await Promise.all(chosen.map((index) => indexes.entries(index, range)));
    // Each list returned `count` entries or all it has, so the first `count` of them together skip none. A run that is
    // just ending may be in two lists.
    const merged = lists
      .flat()
      .sort(order)
      .filter((entry, index, all) => index === 0 || order(entry, all[index - 1] ?? entry) !== 0)
      .slice(0, count);
    const inRange = until ? merged.filter((entry) => order(entry, until) < 0) : merged;
    for (const run of await indexes.summaries(inRange)) if (run && matches(run, query)) found.push(run);
    last = merged.at(-1);
    if (found.length >= wanted || merged.length < count || inRange.length < merged.length) break;
  }
  const runs = found.slice(0, query.limit);
  return { runs: isBackwards ? runs.reverse() : runs, hasMore: found.length > query.limit };
}

const ALL = ['all'] as const;

/** The indexes that together hold whatever matches. */
async function chooseIndexes<Entry extends ListPosition>(query: ListQuery, indexes: RunIndexes<Entry>) {
  if (query.status === undefined && query.model === undefined) return ALL;
  const models = query.model === undefined ? await indexes.models() : [query.model];
  const buckets = new Set<Bucket>(query.status?.map(toBucket) ?? BUCKETS);
  return models.flatMap((model) => [...buckets].map((bucket) => ({ model, bucket })));
}

/** The index that lists a run. */
export function bucketOf(run: Pick<RunSummary, 'status' | 'listed'>): Bucket {
  return toBucket(listedStatus(run));
}

function toBucket(status: ListedStatus): Bucket {
  return status === 'queued' || status === 'in_progress' ? 'open' : status;
}

function listedStatus({ status, listed }: Pick<RunSummary, 'status' | 'listed'>): ListedStatus {
  const shown = status === 'completed' ? parseJson(listed) : undefined;
  return isObject(shown) && shown.status === 'incomplete' ? 'incomplete' : status;
}

function comparePositions(a: ListPosition, b: ListPosition): number {
  if (a.at !== b.at) return a.at - b.at;
  return a.tie < b.tie ? -1 : a.tie > b.tie ? 1 : 0;
}

function matches(run: RunSummary, query: ListQuery): boolean {
  if (query.model !== undefined && run.model !== query.model) return false;
  return query.status === undefined || query.status.includes(listedStatus(run));
}
