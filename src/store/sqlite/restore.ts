import { closeSync, existsSync, fsyncSync, openSync, renameSync, rmSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { lockFolder, refuseIfInUse } from './files/lock.ts';
import { backUpDatabase, databaseAt } from './maintenance.ts';
import { integer } from './rows.ts';
import { schemaVersion } from './schema.ts';

/** The files of a database. The log is moved first: SQLite would apply it to any database next to it. */
const DATABASE_SUFFIXES = ['-wal', '-shm', '-open', ''];

/**
 * Replaces the database in `folder` with the one at `from`, a file or a store folder. Returns the path where the former
 * database is kept; undefined if there was none.
 * @throws Error if another process uses the folder, if `from` is of a newer version or cannot be copied, or, without
 * `force`, if the folder has data that `from` lacks.
 */
export function restoreDatabase(from: string, folder: string, { force }: { force: boolean }): string | undefined {
  const target = resolve(folder);
  const path = join(target, 'runs.db');
  const source = databaseAt(from);
  if (source === path) throw new Error(`${path} is the store itself.`);
  using _ = lockFolder(target);
  const isThere = existsSync(path);
  if (isThere) refuseIfInUse(target, path);
  const newer = isThere && !force ? countNewer(path, source) : 0;
  if (newer > 0) {
    throw new Error(
      `The store in ${target} holds what the backup does not: ${newer} newer runs or records. ` +
        'With --force the backup is put in its place all the same, and the store is kept beside it.',
    );
  }
  const staged = `${path}.restored`;
  // Left over from an interrupted restore.
  rmSync(staged, { force: true });
  backUpDatabase(source, staged);
  syncToDisk(staged);
  const kept = isThere ? setAside(path) : undefined;
  renameSync(staged, path);
  syncToDisk(target);
  return kept;
}

/** The rows to compare, and the schema version that added each table. */
const COMPARED_ROWS: readonly { since: number; rows(schema: string): string }[] = [
  {
    since: 1,
    rows: (s) =>
      `SELECT id, coalesce(ended_at, (SELECT max(last) FROM ${s}.batches WHERE run = runs.key)) FROM ${s}.runs`,
  },
  { since: 6, rows: (s) => `SELECT id, version FROM ${s}.conversations` },
  { since: 8, rows: (s) => `SELECT id FROM ${s}.files` },
  { since: 9, rows: (s) => `SELECT list, id, value FROM ${s}.entries` },
  { since: 9, rows: (s) => `SELECT day, key, team, model, tag, requests FROM ${s}.usage` },
];

/** Counts records of the database at `path` that the one at `source` lacks or has in an earlier state. */
function countNewer(path: string, source: string): number {
  try {
    using db = new DatabaseSync(path, { readOnly: true });
    db.prepare('ATTACH ? AS backup').run(source);
    const version = schemaVersion(db);
    const sourceVersion = integer(db.prepare('PRAGMA backup.user_version').get() ?? {}, 'user_version');
    return COMPARED_ROWS.filter(({ since }) => since <= version).reduce((sum, { since, rows }) => {
      const exceptKnown = since <= sourceVersion ? ` EXCEPT ${rows('backup')}` : '';
      return sum + integer(db.prepare(`SELECT count(*) AS n FROM (${rows('main')}${exceptKnown})`).get() ?? {}, 'n');
    }, 0);
  } catch {
    // Replacing a store that cannot be read is what backups are for.
    return 0;
  }
}

/** Moves a database and its companion files aside and returns the new path. */
function setAside(path: string): string {
  const kept = `${path}.before-${new Date().toISOString().replaceAll(/[:.]/g, '-')}`;
  for (const part of DATABASE_SUFFIXES) if (existsSync(path + part)) renameSync(path + part, kept + part);
  return kept;
}

/** Flushes a file, or the renames in a folder, to the disk. */
function syncToDisk(path: string): void {
  const file = openSync(path, 'r');
  try {
    fsyncSync(file);
  } finally {
    closeSync(file);
  }
}
