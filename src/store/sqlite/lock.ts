import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { resourceFailure } from './failure.ts';

/**
 * Makes this process the only one on a store folder until the lock is disposed of or the process dies, however it
 * dies: the lock is one of the operating system's, held through an exclusive transaction on a database of its own.
 * @throws Error naming the way to several instances where another process holds it.
 */
export function lockFolder(folder: string): Disposable {
  mkdirSync(folder, { recursive: true, mode: 0o700 });
  const lock = new DatabaseSync(join(folder, 'lock.db'));
  try {
    lock.exec('BEGIN EXCLUSIVE');
  } catch (thrown) {
    lock.close();
    const reason = resourceFailure(thrown);
    if (reason === undefined) throw thrown;
    if (!reason.includes('locked'))
      throw new Error(`The store folder ${folder} cannot be used: ${reason}.`, { cause: thrown });
    throw new Error(
      `Another process uses the store folder ${folder}. ` +
        'A file: store serves one instance. To run several, point them all at one Redis: store.url: redis://host:6379/0. ' +
        'To run separate ones, give each its own folder.',
      { cause: thrown },
    );
  }
  return { [Symbol.dispose]: () => lock.close() };
}
