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

/** The runs that have not ended, oldest first. */
export class OpenRuns {
  readonly #byId = new Map<RunId, OpenRun>();

  /** Reads them at start. */
  constructor(db: DatabaseSync) {
    const rows = db.prepare(`
      SELECT key, id, status, cancel_requested, claims, attempts,
        (SELECT max(last) FROM batches WHERE run = runs.key) AS last,
        (SELECT count(*) FROM transcript WHERE run = runs.key) AS entries
      FROM runs WHERE ended_at IS NULL ORDER BY created_at, key`);
    for (const row of rows.iterate()) {
      this.add({
        id: text(row, 'id'),
        key: integer(row, 'key'),
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
  }

  remove(id: RunId): void {
    this.#byId.delete(id);
  }

  count(): { queued: number; inProgress: number } {
    let queued = 0;
    for (const run of this.#byId.values()) if (run.queued) queued++;
    return { queued, inProgress: this.#byId.size - queued };
  }

  /** The runs that nobody holds, oldest first, at most `limit`; `begun`: of those that were under way. */
  free(now: number, { limit, begun = false }: { limit: number; begun?: boolean }): OpenRun[] {
    return this.#byId
      .values()
      .filter((run) => isFree(run, now) && !(begun && run.queued))
      .take(limit)
      .toArray();
  }
}

/** A run that is being created, perhaps with its first claim. `now`: the time of claims. */
export function openRun(run: NewRun, key: number, now: number): OpenRun {
  const claims = run.claim ? 1 : 0;
  return {
    id: run.id,
    key,
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
