import { closeSync, existsSync, fsyncSync, openSync, renameSync, rmSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { lockFolder, refuseUsed } from './files/lock.ts';
import { backUpDatabase, databaseAt } from './maintenance.ts';
import { integer } from './rows.ts';
import { SCHEMA_VERSION, schemaVersion } from './schema.ts';

/** What belongs to a database. Its log goes first: SQLite would take it for the log of whatever database stands beside it. */
const PARTS = ['-wal', '-shm', '-open', ''];

/**
 * Puts the database at `from`, a file or a store folder, in the place of the one in `folder`. What was there is kept
 * beside it; its path, or undefined where there was none.
 * @throws Error where another process uses the folder, where `from` is of a newer version or cannot be copied, or, without
 * `force`, where the folder holds what `from` does not.
 */
export function restoreDatabase(from: string, folder: string, { force }: { force: boolean }): string | undefined {
  const target = resolve(folder);
  const path = join(target, 'runs.db');
  const source = databaseAt(from);
  if (source === path) throw new Error(`${path} is the store itself.`);
  refuseNewer(source);
  using _ = lockFolder(target);
  const isThere = existsSync(path);
  if (isThere) refuseUsed(target, path);
  const newer = isThere && !force ? newerIn(path, source) : 0;
  if (newer > 0) {
    throw new Error(
      `The store in ${target} holds what the backup does not: ${newer} newer runs or records. ` +
        'With --force the backup is put in its place all the same, and the store is kept beside it.',
    );
  }
  const staged = `${path}.restored`;
  // Of a restore that was cut.
  rmSync(staged, { force: true });
  backUpDatabase(source, staged);
  sync(staged);
  const kept = isThere ? setAside(path) : undefined;
  renameSync(staged, path);
  sync(target);
  return kept;
}

/** No gateway of this version could start on it. */
function refuseNewer(source: string): void {
  using db = new DatabaseSync(source, { readOnly: true });
  const version = schemaVersion(db);
  if (version <= SCHEMA_VERSION) return;
  throw new Error(
    `${source} is of version ${version}; this gateway knows ${SCHEMA_VERSION}. Install the one that wrote it.`,
  );
}

/** What tells whether a store went on, the version of the schema that has it first, and its rows. */
const RECORDS: readonly { since: number; rows(schema: string): string }[] = [
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

/** How many records the database at `path` has that the one at `source` does not, or in an earlier state. */
function newerIn(path: string, source: string): number {
  try {
    using db = new DatabaseSync(path, { readOnly: true });
    db.prepare('ATTACH ? AS backup').run(source);
    const version = schemaVersion(db);
    const before = integer(db.prepare('PRAGMA backup.user_version').get() ?? {}, 'user_version');
    return RECORDS.filter(({ since }) => since <= version).reduce((sum, { since, rows }) => {
      const known = since <= before ? ` EXCEPT ${rows('backup')}` : '';
      return sum + integer(db.prepare(`SELECT count(*) AS n FROM (${rows('main')}${known})`).get() ?? {}, 'n');
    }, 0);
  } catch {
    // A store that cannot be read is what backups are for.
    return 0;
  }
}

/** Moves a database and what belongs to it aside; the new path. */
function setAside(path: string): string {
  const kept = `${path}.before-${new Date().toISOString().replaceAll(/[:.]/g, '-')}`;
  for (const part of PARTS) if (existsSync(path + part)) renameSync(path + part, kept + part);
  return kept;
}

/** What was written to a file, or renamed in a folder, is on the disk. */
function sync(path: string): void {
  const file = openSync(path, 'r');
  try {
    fsyncSync(file);
  } finally {
    closeSync(file);
  }
}
