import { closeSync, constants, copyFileSync, existsSync, openSync, renameSync, rmSync, statSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { type Clock, steadyClock, systemClock } from '../../base/clock.ts';
import type { Logger } from '../../base/logger.ts';
import { unusable } from './failure.ts';
import { Checkpoints } from './files/checkpoints.ts';
import { DatabaseHealth } from './files/health.ts';
import { hasLock, lockFolder, refuseUsed } from './files/lock.ts';
import { lostLog, markClosed, markOpen } from './files/lost-log.ts';
import { prepareDatabase, SCHEMA_VERSION, schemaVersion } from './schema.ts';
import { SqliteRunStore } from './store.ts';

/** Longest wait for a lock, in milliseconds: a backup tool may hold one for a moment. The event loop stands still. */
const BUSY_TIMEOUT_MS = 250;
const MEMORY = ':memory:';
const LOST =
  'what was stored last before the gateway died is lost. Runs may be gone, or go on from an earlier event; ' +
  '`npx research-gateway store check` tells whether the rest is sound';

const EMPTY =
  'runs.db is not there or empty, although a gateway has used this folder: the store begins anew. If that is not meant, ' +
  'stop the gateway and restore a backup';

export interface SqliteOptions {
  /** `normal`: a crash of the process loses nothing; `full`: nor does a loss of power. */
  sync: 'normal' | 'full';
  log: Logger;
  /** The store's time; this process's where absent. */
  clock?: Clock;
}

/**
 * Opens the embedded store: `file:<folder>` or `memory:`.
 * @throws Error with the fix where the folder is in use by another process, cannot be written to, or holds a
 * database of another version.
 */
export function openSqliteStore(url: string, options: SqliteOptions): SqliteRunStore {
  if (url === 'memory:') return openAt(MEMORY, { ...options, onClose: () => {} });
  const folder = resolve(url.slice('file:'.length));
  let lock: Disposable | undefined;
  try {
    const isNewLock = !hasLock(folder);
    lock = lockFolder(folder);
    const path = join(folder, 'runs.db');
    if (!isNewLock && !hasBytes(path)) options.log.warn({ folder }, EMPTY);
    // Requests and answers are the users' own. SQLite gives its other files the mode of this one.
    closeSync(openSync(path, 'a', 0o600));
    // A lock that was there tells by itself who has it; beside a backup under way the gateway must start.
    const lost = lostLog(path);
    if (isNewLock) refuseUsed(folder, path);
    const onClose = () => {
      markClosed(path);
      lock?.[Symbol.dispose]();
    };
    const store = openAt(path, { ...options, onClose });
    markOpen(path);
    if (lost !== undefined) options.log.error({ folder }, `runs.db-wal ${lost}: ${LOST}`);
    return store;
  } catch (thrown) {
    lock?.[Symbol.dispose]();
    throw unusable({ folder, file: 'runs.db' }, thrown);
  }
}

function hasBytes(path: string): boolean {
  return (statSync(path, { throwIfNoEntry: false })?.size ?? 0) > 0;
}

function openAt(path: string, options: SqliteOptions & { onClose: () => void }): SqliteRunStore {
  const { log, onClose, clock = systemClock } = options;
  const steady = options.clock ?? steadyClock;
  const connect = () => new DatabaseSync(path, { timeout: BUSY_TIMEOUT_MS });
  let db = connect();
  try {
    const version = schemaVersion(db);
    if (version > 0 && version < SCHEMA_VERSION) {
      // What only stands in the write-ahead log would be missing.
      db.exec('PRAGMA wal_checkpoint(TRUNCATE)');
      db.close();
      const copy = keepCopy(path, version);
      db = connect();
      log.info({ from: version, to: SCHEMA_VERSION, copy }, 'the database is led to a new version; a copy is kept');
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
 * Copies the database beside itself; the path of the copy. One that is there already was made before anything changed.
 * Nothing of this process may have the database open: see `DatabaseHealth`.
 */
function keepCopy(path: string, version: number): string {
  const copy = `${path}.v${version}`;
  if (existsSync(copy)) return copy;
  try {
    copyFileSync(path, `${copy}.tmp`, constants.COPYFILE_FICLONE);
    renameSync(`${copy}.tmp`, copy);
  } catch (thrown) {
    // On a disk that is full, half a copy only takes more of it.
    rmSync(`${copy}.tmp`, { force: true });
    throw thrown;
  }
  return copy;
}
