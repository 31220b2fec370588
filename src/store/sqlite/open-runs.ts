import type { DatabaseSync } from 'node:sqlite';
import type { RunId } from '../../base/ids.ts';
import type { Logger } from '../../base/logger.ts';
import type { FencingToken, NewRun } from '../run-store.ts';
import { newToken } from '../token.ts';
import { integer, type Row, text, unlessUnreadable } from './rows.ts';

/** What appends and claims need to know of an open run. Kept in memory: no other process uses the database. */
export interface OpenRun {
  readonly id: RunId;
  /** Primary key in `runs`. */
  readonly key: number;
  readonly keyId: string;
  /** Sequence number of the last event. */
  last: number;
  /** Transcript entries stored so far. */
  entries: number;
  queued: boolean;
  cancelRequested: boolean;
  /** Number of claims so far; part of the next token. */
  claims: number;
  /** Number of claims since the last finished step. */
  attempts: number;
  /** The current claim. Claims exist in memory only, so those of a dead process are free at once. */
  claim: { token: FencingToken; until: number } | undefined;
}

/** The runs that have not ended. */
export class OpenRuns {
  readonly #byId = new Map<RunId, OpenRun>();
  /** Runs that were claimed at least once, oldest first. */
  readonly #inProgress = new Set<OpenRun>();
  /** Runs that were never claimed, by API key, oldest first; the key whose turn is next comes first. */
  readonly #queued = new Map<string, Set<OpenRun>>();
  #queuedCount = 0;
  #newest = 0;

  /** Runs that cannot be read are left out: they must not keep the others. */
  constructor(db: DatabaseSync, log: Logger) {
    const rows = db.prepare(`
      SELECT key, id, key_id, status, cancel_requested, claims, attempts,
        (SELECT max(last) FROM batches WHERE run = runs.key) AS last,
        (SELECT count(*) FROM transcript WHERE run = runs.key) AS entries
      FROM runs WHERE ended_at IS NULL ORDER BY created_at, key`);
    for (const row of rows.iterate()) {
      const run = unlessUnreadable(() => openRunOf(row), { run: row.id, log });
      if (run) this.add(run);
    }
  }

  get(id: RunId): OpenRun | undefined {
    return this.#byId.get(id);
  }

  add(run: OpenRun): void {
    this.#byId.set(run.id, run);
    this.reclassify(run);
  }

  remove(id: RunId): void {
    const run = this.#byId.get(id);
    if (!run) return;
    this.#byId.delete(id);
    this.#inProgress.delete(run);
    this.#dequeue(run);
  }

  count(): { queued: number; inProgress: number } {
    return { queued: this.#queuedCount, inProgress: this.#inProgress.size };
  }

  countQueued(keyId: string): number {
    return this.#queued.get(keyId)?.size ?? 0;
  }

  /** Moves a run to the set that fits its state: queued or in progress. */
  reclassify(run: OpenRun): void {
    if (this.#byId.get(run.id) !== run) return;
    if (!run.queued) {
      this.#dequeue(run);
      this.#inProgress.add(run);
      return;
    }
    this.#inProgress.delete(run);
    const queue = this.#queued.get(run.keyId) ?? new Set();
    if (queue.has(run)) return;
    queue.add(run);
    this.#queuedCount++;
    // A run that returns to the queue after a failed transaction may not be the newest.
    const sorted = run.key < this.#newest ? new Set([...queue].sort(byAge)) : queue;
    this.#queued.set(run.keyId, sorted);
    this.#newest = Math.max(this.#newest, run.key);
  }

  #dequeue(run: OpenRun): void {
    const queue = this.#queued.get(run.keyId);
    if (!queue?.delete(run)) return;
    this.#queuedCount--;
    if (queue.size === 0) this.#queued.delete(run.keyId);
  }

  /** The run to claim next: an abandoned one, unless its key has an older queued one, or the first of the next key. */
  findNext(now: number, { queued = false }: { queued?: boolean }): OpenRun | undefined {
    const abandoned = queued ? undefined : this.#inProgress.values().find((run) => isFree(run, now));
    const queue = abandoned ? this.#queued.get(abandoned.keyId) : this.#queued.values().next().value;
    const first = queue?.values().next().value;
    return first && (!abandoned || byAge(first, abandoned) < 0) ? first : abandoned;
  }

  /** Moves a key behind all others, after its turn. */
  endTurn(keyId: string): void {
    const queue = this.#queued.get(keyId);
    if (!queue) return;
    this.#queued.delete(keyId);
    this.#queued.set(keyId, queue);
  }

  /** At most `limit` runs that nobody holds: abandoned ones, then queued ones. */
  findFree(now: number, options: { limit: number; abandoned?: boolean }): OpenRun[] {
    const free = this.#inProgress.values().filter((run) => isFree(run, now));
    const abandoned = free.take(options.limit).toArray();
    if (options.abandoned) return abandoned;
    const queued = this.#queued.values().flatMap((queue) => queue.values());
    return [...abandoned, ...queued.take(options.limit - abandoned.length)];
  }
}

function openRunOf(row: Row): OpenRun {
  return {
    id: text(row, 'id'),
    key: integer(row, 'key'),
    keyId: text(row, 'key_id'),
    last: integer(row, 'last'),
    entries: integer(row, 'entries'),
    queued: text(row, 'status') === 'queued',
    cancelRequested: integer(row, 'cancel_requested') === 1,
    claims: integer(row, 'claims'),
    attempts: integer(row, 'attempts'),
    claim: undefined,
  };
}

function byAge(a: OpenRun, b: OpenRun): number {
  return a.key - b.key;
}

/** The state of a run that is being created, perhaps with its first claim. `now`: by the clock of the claims. */
export function newOpenRun(run: NewRun, key: number, now: number): OpenRun {
  const claims = run.claim ? 1 : 0;
  return {
    id: run.id,
    key,
    keyId: run.keyId,
    last: run.frameCount,
    entries: 0,
    queued: claims === 0,
    cancelRequested: false,
    claims,
    attempts: claims,
    claim: run.claim && { token: newToken(claims), until: now + run.claim.leaseMs },
  };
}

/** Whether nobody holds the run, or its claim has expired. */
export function isFree(run: OpenRun, now: number): boolean {
  return run.claim === undefined || run.claim.until <= now;
}
