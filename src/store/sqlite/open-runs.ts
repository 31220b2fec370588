import type { DatabaseSync } from 'node:sqlite';
import type { RunId } from '../../base/ids.ts';
import type { FencingToken, NewRun } from '../run-store.ts';
import { newToken } from '../token.ts';
import { integer, text } from './rows.ts';

/** What an append and a claim need to know of a run that has not ended. The only process on the database keeps it. */
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
  /** Claims so far; part of the next token. */
  claims: number;
  /** Claims since the last finished step. */
  attempts: number;
  /** The current claim. Claims live in memory alone: those of a dead process are free at once. */
  claim: { token: FencingToken; until: number } | undefined;
}

/** The runs that have not ended. */
export class OpenRuns {
  readonly #byId = new Map<RunId, OpenRun>();
  /** Those that were claimed before, oldest first. */
  readonly #underWay = new Set<OpenRun>();
  /** The others by API key, oldest first; the key whose turn is next comes first. */
  readonly #queued = new Map<string, Set<OpenRun>>();
  #queuedCount = 0;
  #newest = 0;

  /** Reads them at start. */
  constructor(db: DatabaseSync) {
    const rows = db.prepare(`
      SELECT key, id, key_id, status, cancel_requested, claims, attempts,
        (SELECT max(last) FROM batches WHERE run = runs.key) AS last,
        (SELECT count(*) FROM transcript WHERE run = runs.key) AS entries
      FROM runs WHERE ended_at IS NULL ORDER BY created_at, key`);
    for (const row of rows.iterate()) {
      this.add({
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
      });
    }
  }

  get(id: RunId): OpenRun | undefined {
    return this.#byId.get(id);
  }

  add(run: OpenRun): void {
    this.#byId.set(run.id, run);
    this.place(run);
  }

  remove(id: RunId): void {
    const run = this.#byId.get(id);
    if (!run) return;
    this.#byId.delete(id);
    this.#underWay.delete(run);
    this.#unqueue(run);
  }

  count(): { queued: number; inProgress: number } {
    return { queued: this.#queuedCount, inProgress: this.#underWay.size };
  }

  countQueued(keyId: string): number {
    return this.#queued.get(keyId)?.size ?? 0;
  }

  /** Puts a run where it belongs by now: among those that wait for their turn, or not. */
  place(run: OpenRun): void {
    if (this.#byId.get(run.id) !== run) return;
    if (!run.queued) {
      this.#unqueue(run);
      this.#underWay.add(run);
      return;
    }
    this.#underWay.delete(run);
    const own = this.#queued.get(run.keyId) ?? new Set();
    if (own.has(run)) return;
    own.add(run);
    this.#queuedCount++;
    // One that comes back after a failed transaction is not the newest.
    const sorted = run.key < this.#newest ? new Set([...own].sort(byAge)) : own;
    this.#queued.set(run.keyId, sorted);
    this.#newest = Math.max(this.#newest, run.key);
  }

  #unqueue(run: OpenRun): void {
    const own = this.#queued.get(run.keyId);
    if (!own?.delete(run)) return;
    this.#queuedCount--;
    if (own.size === 0) this.#queued.delete(run.keyId);
  }

  /**
   * The run whose turn it is: one that nobody holds any more, unless an earlier one of its key waits, else the first of
   * the next key.
   */
  next(now: number, { queued = false }: { queued?: boolean }): OpenRun | undefined {
    const abandoned = queued ? undefined : this.#underWay.values().find((run) => isFree(run, now));
    const own = abandoned ? this.#queued.get(abandoned.keyId) : this.#queued.values().next().value;
    const first = own?.values().next().value;
    return first && (!abandoned || byAge(first, abandoned) < 0) ? first : abandoned;
  }

  /** The key has had its turn. */
  tookTurn(keyId: string): void {
    const own = this.#queued.get(keyId);
    if (!own) return;
    this.#queued.delete(keyId);
    this.#queued.set(keyId, own);
  }

  /** The runs that nobody holds, at most `limit`: abandoned ones, then queued ones. */
  free(now: number, { limit, abandoned: only = false }: { limit: number; abandoned?: boolean }): OpenRun[] {
    const free = this.#underWay.values().filter((run) => isFree(run, now));
    const abandoned = free.take(limit).toArray();
    if (only) return abandoned;
    const queued = this.#queued.values().flatMap((own) => own.values());
    return [...abandoned, ...queued.take(limit - abandoned.length)];
  }
}

function byAge(a: OpenRun, b: OpenRun): number {
  return a.key - b.key;
}

/** A run that is being created, perhaps with its first claim. `now`: the time of claims. */
export function openRun(run: NewRun, key: number, now: number): OpenRun {
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

/** Whether nobody holds the run, or the claim has run out. */
export function isFree(run: OpenRun, now: number): boolean {
  return run.claim === undefined || run.claim.until <= now;
}
