import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { silentLogger } from '../../../src/base/logger.ts';
import { openSqliteStore } from '../../../src/store/sqlite/open.ts';
import { newRun } from '../../contract/run-store-fixture.ts';

const EARLIER = join(import.meta.dirname, '../../fixtures/stores/v1/sqlite.sql');

/**
 * SQLite separates processes by locks of the operating system. A process that closes any descriptor of a file loses all
 * its locks on it (https://www.sqlite.org/howtocorrupt.html, 2.2). The next process then believes to be alone, and
 * truncates the index that the gateway uses, or removes its log.
 */
describe('another process at the database of a running gateway', () => {
  let folder: string;
  beforeEach(async () => {
    folder = await mkdtemp(join(tmpdir(), 'sqlite-beside-'));
  });
  afterEach(() => rm(folder, { recursive: true }));

  /** Runs a script in another process, with the database as `path`; returns what it printed. */
  function beside(script: string): string {
    const begin = `
      const { DatabaseSync } = require('node:sqlite');
      const { readFileSync } = require('node:fs');
      const path = process.argv[1];`;
    const args = ['-e', begin + script, join(folder, 'runs.db')];
    const { status, stdout, stderr } = spawnSync(process.execPath, args, { encoding: 'utf8' });
    assert.equal(status, 0, stderr);
    return stdout.trim();
  }

  it('finds it in use after the gateway checked its files, and leaves its index alone', async () => {
    await using store = withDispose(openSqliteStore(`file:${folder}`, { sync: 'normal', log: silentLogger }));
    assert.equal(await store.create(newRun()), 'created');
    assert.deepEqual(await store.check(), { ok: true });
    // A process that believes to be alone rebuilds the index, which resets the count of moved frames.
    const moved = beside(`
      const db = new DatabaseSync(path);
      db.exec('PRAGMA wal_checkpoint(PASSIVE)');
      db.close();
      const moved = () => readFileSync(path + '-shm').readUInt32LE(96);
      const before = moved();
      const reader = new DatabaseSync(path, { readOnly: true });
      reader.prepare('SELECT count(*) FROM runs').get();
      console.log(before > 0 && moved() === before);
      reader.close();`);
    assert.equal(moved, 'true');
    assert.equal(await store.create(newRun()), 'created');
  });

  it('cannot lock it exclusively, even after a migration from an earlier version', async () => {
    const earlier = new DatabaseSync(join(folder, 'runs.db'));
    earlier.exec(await readFile(EARLIER, 'utf8'));
    earlier.close();
    await using store = withDispose(openSqliteStore(`file:${folder}`, { sync: 'normal', log: silentLogger }));
    assert.deepEqual(await store.check(), { ok: true });
    const refused = beside(`
      const db = new DatabaseSync(path);
      db.exec('PRAGMA locking_mode = EXCLUSIVE');
      try {
        db.exec('SELECT count(*) FROM runs');
      } catch (thrown) {
        console.log(thrown.message);
      }`);
    assert.equal(refused, 'database is locked');
  });
});

function withDispose<T extends { close(): Promise<void> }>(store: T): T & AsyncDisposable {
  return Object.assign(store, { [Symbol.asyncDispose]: () => store.close() });
}
