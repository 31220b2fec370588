import { existsSync, mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { explainOpenFailure, resourceReason } from '../failure.ts';

const LOCK_FILE = 'lock.db';

/** How long the start waits for a backup or another tool that reads the database, in milliseconds. */
const TOOL_WAIT_MS = 1000;

/**
 * Makes this process the only user of a store folder until the lock is disposed of or the process dies, however it
 * dies: the operating system holds the lock, through an exclusive transaction on a separate database.
 * @throws Error with the way to run several instances if another process holds it, or the fix if it cannot be acquired.
 */
export function lockFolder(folder: string): Disposable {
  mkdirSync(folder, { recursive: true, mode: 0o700 });
  let lock: DatabaseSync | undefined;
  try {
    lock = new DatabaseSync(join(folder, LOCK_FILE));
    lock.exec('BEGIN EXCLUSIVE');
  } catch (thrown) {
    lock?.close();
    if (resourceReason(thrown)?.includes('locked')) throw inUseError(folder, thrown);
    throw explainOpenFailure({ folder, file: LOCK_FILE }, thrown);
  }
  const held = lock;
  return { [Symbol.dispose]: () => held.close() };
}

/** Whether a process holds the lock of a store folder. Changes nothing in it. */
export function isInUse(folder: string): boolean {
  if (!hasLock(folder)) return false;
  using lock = new DatabaseSync(join(folder, LOCK_FILE), { readOnly: true });
  try {
    lock.prepare('SELECT count(*) FROM sqlite_schema').get();
    return false;
  } catch (thrown) {
    return resourceReason(thrown)?.includes('locked') ?? false;
  }
}

export function hasLock(folder: string): boolean {
  return existsSync(join(folder, LOCK_FILE));
}

/**
 * Makes sure that nobody, such as a process whose lock was deleted, has the database open. Tools get a moment to
 * finish.
 * @throws Error if somebody has.
 */
export function refuseIfInUse(folder: string, path: string): void {
  const probe = new DatabaseSync(path, { timeout: TOOL_WAIT_MS });
  try {
    probe.exec('PRAGMA locking_mode = EXCLUSIVE');
    probe.prepare('SELECT count(*) FROM sqlite_schema').get();
  } catch (thrown) {
    // Opening the database afterwards reports any other problem.
    if (resourceReason(thrown)?.includes('locked')) throw inUseError(folder, thrown);
  } finally {
    probe.close();
  }
}

function inUseError(folder: string, cause: unknown): Error {
  return new Error(
    `Another process uses the store folder ${folder}. ` +
      'A file: store serves one instance. To run several, point them all at one Redis: store.url: redis://host:6379/0. ' +
      'To run separate ones, give each its own folder.',
    { cause },
  );
}
