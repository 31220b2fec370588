import { existsSync, mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { resourceFailure, unusable } from '../failure.ts';

const LOCK_FILE = 'lock.db';

/** How long a backup or a look at the database may hold up the start, in milliseconds. */
const TOOLS_MS = 1000;

/**
 * Makes this process the only one on a store folder until the lock is disposed of or the process dies, however it
 * dies: the lock is one of the operating system's, held through an exclusive transaction on a database of its own.
 * @throws Error naming the way to several instances where another process holds it, or the fix where it cannot be held.
 */
export function lockFolder(folder: string): Disposable {
  mkdirSync(folder, { recursive: true, mode: 0o700 });
  let lock: DatabaseSync | undefined;
  try {
    lock = new DatabaseSync(join(folder, LOCK_FILE));
    lock.exec('BEGIN EXCLUSIVE');
  } catch (thrown) {
    lock?.close();
    if (resourceFailure(thrown)?.includes('locked')) throw inUse(folder, thrown);
    throw unusable({ folder, file: LOCK_FILE }, thrown);
  }
  const held = lock;
  return { [Symbol.dispose]: () => held.close() };
}

/** Whether a process holds the lock of a store folder, found without a change to it. */
export function isUsed(folder: string): boolean {
  if (!hasLock(folder)) return false;
  using lock = new DatabaseSync(join(folder, LOCK_FILE), { readOnly: true });
  try {
    lock.prepare('SELECT count(*) FROM sqlite_schema').get();
    return false;
  } catch (thrown) {
    return resourceFailure(thrown)?.includes('locked') ?? false;
  }
}

export function hasLock(folder: string): boolean {
  return existsSync(join(folder, LOCK_FILE));
}

/**
 * Makes sure that nobody has the database open: a process whose lock was deleted, or a tool that only a moment is given to.
 * @throws Error where somebody has.
 */
export function refuseUsed(folder: string, path: string): void {
  const probe = new DatabaseSync(path, { timeout: TOOLS_MS });
  try {
    probe.exec('PRAGMA locking_mode = EXCLUSIVE');
    probe.prepare('SELECT count(*) FROM sqlite_schema').get();
  } catch (thrown) {
    // Whoever opens it next says what else is wrong.
    if (resourceFailure(thrown)?.includes('locked')) throw inUse(folder, thrown);
  } finally {
    probe.close();
  }
}

function inUse(folder: string, cause: unknown): Error {
  return new Error(
    `Another process uses the store folder ${folder}. ` +
      'A file: store serves one instance. To run several, point them all at one Redis: store.url: redis://host:6379/0. ' +
      'To run separate ones, give each its own folder.',
    { cause },
  );
}
