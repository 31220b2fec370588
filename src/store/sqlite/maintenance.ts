import { chmodSync, closeSync, existsSync, openSync, rmSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { messageOf } from '../../base/errors.ts';
import { CompressedLog } from '../compressed-log.ts';
import { offsetAfter } from '../frames.ts';
import { blob, integer, type Row, text } from './rows.ts';
import { SCHEMA_VERSION, schemaVersion } from './schema.ts';

/** What a look through a store found. */
export interface StoreFindings {
  /** One line about what there is. */
  summary: string;
  /** What is wrong, one line each; at most `MOST_PROBLEMS`. */
  problems: string[];
}

const MOST_PROBLEMS = 100;
const READ_BYTES = 1024 * 1024;

/**
 * Looks through the database of a store folder, page by page and log by log, also while a gateway uses it.
 * @throws Error where there is no database, or it cannot be read at all.
 */
export async function checkDatabase(folder: string): Promise<StoreFindings> {
  using db = openForReading(folder);
  const problems: string[] = [];
  const note = (problem: string) => {
    if (problems.length < MOST_PROBLEMS) problems.push(problem);
  };
  const version = schemaVersion(db);
  if (version > SCHEMA_VERSION) note(`its version is ${version}; this gateway knows ${SCHEMA_VERSION}`);
  for (const row of db.prepare(`PRAGMA integrity_check(${MOST_PROBLEMS})`).all()) {
    const found = text(row, 'integrity_check');
    if (found !== 'ok') note(found);
  }
  // One state of all tables, whatever a running gateway writes meanwhile.
  db.exec('BEGIN');
  const runs = db.prepare('SELECT key, id, ended_at, last, sealed FROM runs').all();
  const logs = new StoredLogs(db);
  for (const run of runs) {
    const problem = await logs.problemOf(run);
    if (problem !== undefined) note(`run ${text(run, 'id')}: ${problem}`);
  }
  const open = runs.filter((run) => run.ended_at === null).length;
  return { summary: `${runs.length} runs, ${open} of them open; version ${version}`, problems };
}

/** Logs as they are stored, each looked through. */
class StoredLogs {
  readonly #batches;
  readonly #size;
  readonly #range;

  constructor(db: DatabaseSync) {
    this.#batches = db.prepare('SELECT first, last, end, frames FROM batches WHERE run = ? ORDER BY last');
    this.#size = db.prepare('SELECT length(log) AS size FROM sealed_logs WHERE run = ?');
    this.#range = db.prepare('SELECT substr(log, ?, ?) AS bytes FROM sealed_logs WHERE run = ?');
  }

  /** What is wrong with the log of a run, if anything. */
  async problemOf(run: Row): Promise<string | undefined> {
    try {
      const { last, end } = integer(run, 'sealed') === 1 ? await this.#compressed(run) : this.#plain(run);
      if (run.ended_at === null) return last === 0 ? 'its log has no events' : undefined;
      if (!end) return 'it has ended, and its log has no end';
      return last === integer(run, 'last') ? undefined : `its log ends at event ${last} instead of ${run.last}`;
    } catch (thrown) {
      return messageOf(thrown);
    }
  }

  #plain(run: Row): { last: number; end: boolean } {
    let last = 0;
    let end = false;
    for (const row of this.#batches.iterate(integer(run, 'key'))) {
      const first = integer(row, 'first');
      if (first !== last + 1) throw new Error(`event ${last + 1} is missing from its log`);
      last = integer(row, 'last');
      end = integer(row, 'end') === 1;
      const frames = blob(row, 'frames');
      if (offsetAfter(frames, last - first + 1) !== frames.length) throw new Error(`event ${last} is not whole`);
    }
    return { last, end };
  }

  async #compressed(run: Row): Promise<{ last: number; end: boolean }> {
    const key = integer(run, 'key');
    const log = await CompressedLog.open(
      {
        size: () => {
          const row = this.#size.get(key);
          return row && integer(row, 'size');
        },
        range: (offset, length) => {
          const row = this.#range.get(offset + 1, length, key);
          return row ? Buffer.from(blob(row, 'bytes')) : Buffer.alloc(0);
        },
      },
      { keepUpTo: 0 },
    );
    if (!log) throw new Error('its compressed log is missing');
    let last = 0;
    let end = false;
    for (;;) {
      const batches = await log.read({ after: last, maxBytes: READ_BYTES });
      const batch = batches.at(-1);
      if (!batch) return { last, end };
      ({ last, end } = batch);
    }
  }
}

/**
 * Copies the database of a store folder as it is at this moment, also while a gateway uses it. The copy can be put in
 * the place of `runs.db` of a gateway that is stopped.
 * @throws Error where there is no database, or `to` exists or cannot be written.
 */
export function backUpDatabase(folder: string, to: string): void {
  using db = openForReading(folder);
  const target = resolve(to);
  // Requests and answers are the users' own.
  closeSync(openSync(target, 'wx', 0o600));
  try {
    db.prepare('VACUUM INTO ?').run(target);
    chmodSync(target, 0o600);
  } catch (thrown) {
    rmSync(target, { force: true });
    throw thrown;
  }
}

function openForReading(folder: string): DatabaseSync & Disposable {
  const path = join(resolve(folder), 'runs.db');
  if (!existsSync(path)) throw new Error(`There is no ${path}.`);
  return new DatabaseSync(path, { readOnly: true, timeout: 5000 });
}
