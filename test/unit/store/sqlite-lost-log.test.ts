import assert from 'node:assert/strict';
import { cp, mkdtemp, readdir, rm, stat, truncate, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { createLogger, silentLogger } from '../../../src/base/logger.ts';
import { openSqliteStore } from '../../../src/store/sqlite/open.ts';
import { claimedRun, ending, events, newRun } from '../../contract/run-store-fixture.ts';

describe('the write-ahead log of a killed gateway', () => {
  let folder: string;
  /** The files of a process that was killed. */
  let left: string;
  before(async () => {
    folder = await mkdtemp(join(tmpdir(), 'lost-log-'));
    left = join(folder, 'left');
    const open = join(folder, 'open');
    const store = openSqliteStore(`file:${open}`, { sync: 'normal', log: silentLogger });
    const { run, token } = await claimedRun(store);
    await store.append(run.id, events(token, 3, 3));
    await store.append(run.id, ending(token, 4, 'completed'));
    await cp(open, left, { recursive: true });
    await store.close();
  });
  after(() => rm(folder, { recursive: true }));

  /** Errors that a start logs once `damage` was done to what the process left; the store works all the same. */
  async function start(damage: (db: string) => Promise<unknown>, from = left): Promise<string[]> {
    const copy = await mkdtemp(join(folder, 'copy-'));
    await cp(from, copy, { recursive: true });
    await damage(join(copy, 'runs.db'));
    const lines: string[] = [];
    const log = createLogger({ destination: { write: (line: string) => void lines.push(line) } });
    const store = openSqliteStore(`file:${copy}`, { sync: 'normal', log });
    assert.equal(await store.create(newRun()), 'created');
    await store.close();
    const errors = lines.map((line) => JSON.parse(line)).filter(({ level }) => level === 'error' || level === 50);
    return errors.map(({ msg }) => String(msg));
  }

  it('causes no error if it is intact, even without its index', async () => {
    assert.deepEqual(await start(async () => {}), []);
    assert.deepEqual(await start((db) => rm(`${db}-shm`)), [], 'its index can be made again');
  });

  it('is reported missing if it was deleted, with or without its index', async () => {
    for (const files of [['-wal'], ['-wal', '-shm']]) {
      const [error, ...others] = await start((db) => Promise.all(files.map((file) => rm(`${db}${file}`))));
      assert.match(error ?? '', /runs\.db-wal is missing.*is lost/);
      assert.deepEqual(others, []);
    }
  });

  it('is reported as cut off, however little is missing', async () => {
    const { size } = await stat(join(left, 'runs.db-wal'));
    for (const bytes of [0, 10, 32, Math.floor(size / 2), size - 1]) {
      assert.match((await start((db) => truncate(`${db}-wal`, bytes)))[0] ?? '', /was cut off/, `at ${bytes}`);
    }
  });

  it('is reported if another file took its place', async () => {
    const { size } = await stat(join(left, 'runs.db-wal'));
    const error = await start((db) => writeFile(`${db}-wal`, Buffer.alloc(size)));
    assert.match(error[0] ?? '', /is another one/);
  });

  it('may be missing if all of it was already moved into the database', async () => {
    const moved = await mkdtemp(join(folder, 'moved-'));
    await cp(left, moved, { recursive: true });
    const db = new DatabaseSync(join(moved, 'runs.db'));
    assert.equal(db.prepare('PRAGMA wal_checkpoint(PASSIVE)').get()?.busy, 0);
    const checkpointed = await mkdtemp(join(folder, 'checkpointed-'));
    await cp(moved, checkpointed, { recursive: true });
    db.close();
    assert.deepEqual(await start((path) => rm(`${path}-wal`), checkpointed), []);
  });

  it('is not expected after an orderly stop', async () => {
    const stopped = join(folder, 'open');
    assert.deepEqual((await readdir(stopped)).sort(), ['lock.db', 'runs.db']);
    assert.deepEqual(await start(async () => {}, stopped), []);
  });
});
