import { chmodSync, closeSync, existsSync, openSync, rmSync, statSync } from 'node:fs';
import { dirname, join, resolve } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { messageOf } from '../../base/errors.ts';
import { counted } from '../../base/text.ts';
import { CompressedLog } from '../compressed-log.ts';
import { offsetAfter } from '../frames.ts';
import { explainCopyFailure, isDamaged } from './failure.ts';
import { isInUse } from './files/lock.ts';
import { findLostLog } from './files/lost-log.ts';
import { integer, type Row, text } from './rows.ts';
import { SCHEMA_VERSION, schemaVersion } from './schema.ts';
import { StoredLogs } from './stored-logs.ts';

/** The result of a check. */
export interface StoreFindings {
  summary: string;
  /** The problems, one line each; at most `MAX_PROBLEMS`. */
  problems: string[];
}

const MAX_PROBLEMS = 100;
const READ_BYTES = 1024 * 1024;

/** The path of the database: `path` itself, or `runs.db` in the store folder `path`. */
export function databaseAt(path: string): string {
  const full = resolve(path);
  return statSync(full, { throwIfNoEntry: false })?.isFile() ? full : join(full, 'runs.db');
}

/**
 * Checks the database of a store folder or a backup, page by page and log by log, even while a gateway uses it.
 * @throws Error if there is no database, it cannot be read at all, or only a newer gateway knows what it should be.
 */
export async function checkDatabase(path: string): Promise<StoreFindings> {
  const problems: string[] = [];
  const note = (problem: string) => {
    if (problems.length < MAX_PROBLEMS) problems.push(problem);
  };
  const database = databaseAt(path);
  const lost = isInUse(dirname(database)) ? undefined : findLostLog(database);
  if (lost !== undefined) note(`${database}-wal ${lost}: what was stored last is gone`);
  using db = openForReading(path);
  const version = versionOf(db, path);
  if (version === 0) throw new Error(problems[0] ?? `${database} is a database, but no store of runs.`);
  if (version > SCHEMA_VERSION) {
    const fix = 'Check it with the gateway that wrote it, or a newer one.';
    throw new Error(`${database} has version ${version}; this gateway knows ${SCHEMA_VERSION}. ${fix}`);
  }
  try {
    for (const row of db.prepare(`PRAGMA integrity_check(${MAX_PROBLEMS})`).all()) {
      const found = text(row, 'integrity_check');
      if (found !== 'ok') note(found);
    }
    // A snapshot of all tables, whatever a running gateway writes meanwhile.
    db.exec('BEGIN');
    noteBroken(db, { version, note });
    return { summary: `${await checkRuns(db, note)}; version ${version}`, problems };
  } catch (thrown) {
    // A page is damaged, or the problems found so far explain the failure. Other errors say nothing of the database.
    if (problems.length === 0 && !(thrown instanceof Error && isDamaged(thrown))) throw thrown;
    note(`${database} cannot be read further: ${messageOf(thrown)}`);
    return { summary: `its runs cannot be read; version ${version}`, problems };
  }
}

/** Counts the runs and notes those whose logs are damaged. */
async function checkRuns(db: DatabaseSync, note: (problem: string) => void): Promise<string> {
  const runs = db.prepare('SELECT key, id, ended_at, last, sealed FROM runs').all();
  const logs = new StoredLogs(db);
  for (const run of runs) {
    const problem = await findLogProblem(run, logs);
    if (problem !== undefined) note(`run ${text(run, 'id')}: ${problem}`);
  }
  const open = runs.filter((run) => run.ended_at === null).length;
  return `${counted(runs.length, 'run')}, ${open} of them open`;
}

/** Columns that contain JSON, and the schema version that added them. */
const JSON_COLUMNS: readonly { since: number; table: string; column: string }[] = [
  { since: 1, table: 'runs', column: 'metadata' },
  { since: 1, table: 'requests', column: 'body' },
  { since: 1, table: 'transcript', column: 'entry' },
  { since: 6, table: 'conversations', column: 'metadata' },
  { since: 6, table: 'conversation_items', column: 'json' },
  { since: 7, table: 'deliveries', column: 'state' },
  { since: 10, table: 'runs', column: 'listed' },
];

/** Notes rows that are incomplete: code that reads them later would fail, or go on without them. */
function noteBroken(db: DatabaseSync, { version, note }: { version: number; note: (problem: string) => void }): void {
  for (const { since, table, column } of JSON_COLUMNS) {
    if (since > version) continue;
    const query = `SELECT count(*) AS n FROM ${table} WHERE ${column} IS NOT NULL AND NOT json_valid(${column})`;
    const broken = integer(db.prepare(query).get() ?? {}, 'n');
    if (broken > 0) note(`${table}: ${counted(broken, 'row')} not whole (${column})`);
  }
  const orphans = 'SELECT id FROM runs WHERE key NOT IN (SELECT run FROM requests) LIMIT 10';
  for (const run of db.prepare(orphans).all()) note(`run ${text(run, 'id')}: its request is missing`);
}

/** @throws Error where the file is no database. */
function versionOf(db: DatabaseSync, path: string): number {
  try {
    return schemaVersion(db);
  } catch (cause) {
    throw new Error(`${databaseAt(path)} cannot be read: ${messageOf(cause)}.`, { cause });
  }
}

/** The state of a store folder. */
export interface StoreStatus {
  /** Version of the schema; undefined if there is no database yet. */
  version: number | undefined;
  /** The latest schema version that this gateway knows. */
  known: number;
  /** Whether a gateway is using the folder. */
  used: boolean;
}

/** Inspects a store folder without changing it. @throws Error if its database cannot be read. */
export function inspectStore(folder: string): StoreStatus {
  const status = { known: SCHEMA_VERSION, used: isInUse(folder) };
  if (!existsSync(databaseAt(folder))) return { ...status, version: undefined };
  using db = openForReading(folder);
  return { ...status, version: versionOf(db, folder) };
}

/** The problem with the log of a run; undefined if there is none. */
async function findLogProblem(run: Row, logs: StoredLogs): Promise<string | undefined> {
  try {
    const { last, end } = await readWholeLog(run, logs);
    if (run.ended_at === null) return last === 0 ? 'its log has no events' : undefined;
    if (!end) return 'it has ended, and its log has no end';
    return last === integer(run, 'last') ? undefined : `its log ends at event ${last} instead of ${run.last}`;
  } catch (thrown) {
    return messageOf(thrown);
  }
}

/** Reads a whole log. @throws Error if events are missing or incomplete. */
async function readWholeLog(run: Row, logs: StoredLogs): Promise<{ last: number; end: boolean }> {
  const key = integer(run, 'key');
  const isCompressed = integer(run, 'sealed') === 1;
  const compressed = isCompressed ? await CompressedLog.open(logs.compressed(key)) : undefined;
  if (isCompressed && !compressed) throw new Error('its compressed log is missing');
  const stored = logs.readLast(key)?.last ?? 0;
  let [last, end] = [0, false];
  for (;;) {
    const range = { after: last, maxBytes: READ_BYTES };
    const batches = compressed ? await compressed.read(range) : logs.read(key, stored, range);
    for (const batch of batches) {
      const count = batch.last - batch.first + 1;
      if (offsetAfter(batch.frames, count) !== batch.frames.length) throw new Error(`event ${batch.last} is not whole`);
      ({ last, end } = batch);
    }
    if (batches.length === 0) return { last, end };
  }
}

/**
 * Copies the present state of the database of a store folder or a backup, even while a gateway uses it. The copy can
 * replace the `runs.db` of a stopped gateway.
 * @throws Error if there is no database, or `to` exists or cannot be written.
 */
export function backUpDatabase(from: string, to: string): void {
  using db = openForReading(from);
  const target = resolve(to);
  if (existsSync(target)) throw new Error(`${target} is there already: name another file.`);
  try {
    // Requests and answers are private.
    closeSync(openSync(target, 'wx', 0o600));
    copyInto(target, db);
  } catch (thrown) {
    throw explainCopyFailure(target, thrown);
  }
}

function copyInto(target: string, db: DatabaseSync): void {
  try {
    db.prepare('VACUUM INTO ?').run(target);
    chmodSync(target, 0o600);
  } catch (thrown) {
    rmSync(target, { force: true });
    throw thrown;
  }
}

function openForReading(path: string): DatabaseSync & Disposable {
  const database = databaseAt(path);
  if (!existsSync(database)) throw new Error(`There is no ${database}.`);
  return new DatabaseSync(database, { readOnly: true, timeout: 5000 });
}
