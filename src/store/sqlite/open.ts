import { closeSync, constants, copyFileSync, openSync, renameSync, rmSync, statSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { type Clock, monotonicClock, systemClock } from '../../base/clock.ts';
import type { Logger } from '../../base/logger.ts';
import { explainOpenFailure } from './failure.ts';
import { Checkpoints } from './files/checkpoints.ts';
import { DatabaseHealth } from './files/health.ts';
import { hasLock, lockFolder, refuseIfInUse } from './files/lock.ts';
import { findLostLog, markClosed, markOpen } from './files/lost-log.ts';
import { prepareDatabase, SCHEMA_VERSION, schemaVersion } from './schema.ts';
import { SqliteRunStore } from './store.ts';

/** Longest wait for a lock, in milliseconds: a backup tool may hold one briefly. It blocks the event loop. */
const BUSY_TIMEOUT_MS = 250;
const MEMORY = ':memory:';
const LOST_LOG_WARNING =
  'what was stored last before the gateway died is lost. Runs may be gone, or go on from an earlier event; ' +
  '`npx research-gateway store check` tells whether the rest is sound';

const MISSING_DATABASE_WARNING =
  'runs.db is missing or empty, although a gateway has used this folder: the store starts empty. If that is unintended, ' +
  'stop the gateway and restore a backup';

export interface SqliteOptions {
  /** `normal`: a crash of the process loses nothing; `full`: nor does a loss of power. */
  sync: 'normal' | 'full';
  log: Logger;
  /** The clock of the store; that of this process if absent. */
  clock?: Clock;
}

/**
 * Opens the embedded store: `file:<folder>` or `memory:`.
 * @throws Error with the fix if another process uses the folder, it cannot be written to, or its database is of a newer
 * version.
 */
export function openSqliteStore(url: string, options: SqliteOptions): SqliteRunStore {
  if (url === 'memory:') return openAt(MEMORY, { ...options, onClose: () => {} });
  const folder = resolve(url.slice('file:'.length));
  let lock: Disposable | undefined;
  try {
    const isNewLock = !hasLock(folder);
    lock = lockFolder(folder);
    const path = join(folder, 'runs.db');
    if (!isNewLock && !hasBytes(path)) options.log.warn({ folder }, MISSING_DATABASE_WARNING);
    // Requests and answers are private. SQLite creates its other files with the mode of this one.
    closeSync(openSync(path, 'a', 0o600));
    // An existing lock already proves that nobody uses the folder, and a gateway must be able to start during a backup.
    const lost = findLostLog(path);
    if (isNewLock) refuseIfInUse(folder, path);
    const onClose = () => {
      markClosed(path);
      lock?.[Symbol.dispose]();
    };
    const store = openAt(path, { ...options, onClose });
    markOpen(path);
    if (lost !== undefined) options.log.error({ folder }, `runs.db-wal ${lost}: ${LOST_LOG_WARNING}`);
    return store;
  } catch (thrown) {
    lock?.[Symbol.dispose]();
    throw explainOpenFailure({ folder, file: 'runs.db' }, thrown);
  }
}

function hasBytes(path: string): boolean {
  return (statSync(path, { throwIfNoEntry: false })?.size ?? 0) > 0;
}

function openAt(path: string, options: SqliteOptions & { onClose: () => void }): SqliteRunStore {
  const { log, onClose, clock = systemClock } = options;
  const steady = options.clock ?? monotonicClock;
  const connect = () => new DatabaseSync(path, { timeout: BUSY_TIMEOUT_MS });
  let db = connect();
  try {
    const version = schemaVersion(db);
    if (version > 0 && version < SCHEMA_VERSION) {
      const copy = copyBeforeMigration(db, path, version);
      db = connect();
      log.info(
        { from: version, to: SCHEMA_VERSION, copy },
        'the database is migrated to a new version; a copy is kept',
      );
    }
    prepareDatabase(db, options);
    const files = path === MEMORY ? {} : { health: new DatabaseHealth(path), checkpoints: new Checkpoints(db, path) };
    return new SqliteRunStore(db, { log, onClose, clock, steady, ...files });
  } catch (thrown) {
    if (db.isOpen) db.close();
    throw thrown;
  }
}

/**
 * Closes the database, copies it next to itself and returns the path. An earlier copy of this version is replaced: if it was
 * put back meanwhile, it lacks what was written since. Nothing in this process may have the database open: see
 * `DatabaseHealth`.
 */
function copyBeforeMigration(db: DatabaseSync, path: string, version: number): string {
  const copy = `${path}.v${version}`;
  const part = `${copy}.tmp`;
  rmSync(part, { force: true });
  try {
    // The file lacks what is only in the write-ahead log, which cannot be moved while a backup or another tool reads it.
    const isWhole = db.prepare('PRAGMA wal_checkpoint(TRUNCATE)').get()?.busy === 0;
    if (!isWhole) {
      closeSync(openSync(part, 'wx', 0o600));
      db.prepare('VACUUM INTO ?').run(part);
    }
    db.close();
    if (isWhole) copyFileSync(path, part, constants.COPYFILE_FICLONE);
    renameSync(part, copy);
  } catch (thrown) {
    // Half a copy would only waste space on a full disk.
    rmSync(part, { force: true });
    throw thrown;
  }
  return copy;
}
