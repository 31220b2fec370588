import assert from 'node:assert/strict';
import { cp, mkdir, mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { silentLogger } from '../../../src/base/logger.ts';
import { runCommandLine } from '../../../src/cli/command-line.ts';
import { readEnvironment } from '../../../src/config/environment.ts';
import type { RunStore } from '../../../src/store/run-store.ts';
import { openSqliteStore } from '../../../src/store/sqlite/open.ts';
import { claimedRun, endedRun, events, newRun } from '../../contract/run-store-fixture.ts';
import { RecordedTerminal } from './recorded-terminal.ts';

const PAGE = 8192;

describe('research-gateway store', () => {
  let folder: string;
  let store: RunStore;
  beforeEach(async () => {
    folder = await mkdtemp(join(tmpdir(), 'store-commands-'));
    store = openSqliteStore(`file:${folder}`, { sync: 'normal', log: silentLogger });
    await endedRun(store);
    await configure(`file:${folder}`);
  });
  async function configure(url: string) {
    const config = {
      store: { url },
      providers: { demo: { builtin: 'demo' } },
      models: { m: { kind: 'proxy', routes: [{ provider: 'demo', model: 'demo' }] } },
      keys: [{ id: 'k', user: 'u', secret: 'sk-a-secret-of-tests' }],
    };
    await writeFile(join(folder, 'gateway.yaml'), JSON.stringify(config));
  }
  afterEach(async () => {
    await store.close();
    await rm(folder, { recursive: true });
  });

  const run = (...args: string[]) => command([...args, '--config', join(folder, 'gateway.yaml')]);
  /** Runs `store verify`, which needs no configuration file. */
  const verify = (path: string) => command(['verify', path]);
  async function command(args: string[]) {
    const terminal = new RecordedTerminal();
    const code = await runCommandLine(['store', ...args], {
      environment: readEnvironment({}),
      terminal,
      startGateway: () => Promise.reject(new Error('not to be started')),
      projectRoot: folder,
      version: '0',
    });
    return { code, ...terminal.written };
  }

  it('check and backup work while a gateway uses the store; backup never overwrites', async () => {
    assert.deepEqual(await run('check'), {
      code: 0,
      out: '1 run, 0 of them open; version 11\nEverything is in order.\n',
      err: '',
    });
    const copy = join(folder, 'copy.db');
    assert.equal((await run('backup', copy)).code, 0);
    const db = new DatabaseSync(copy);
    assert.equal(db.prepare('SELECT count(*) AS n FROM runs').get()?.n, 1);
    db.close();
    const again = await run('backup', copy);
    assert.equal(again.code, 1);
    assert.match(again.err, /is there already: name another file/);
  });

  it('check names what is damaged and fails', async () => {
    await store.close();
    const db = new DatabaseSync(join(folder, 'runs.db'));
    db.exec('UPDATE batches SET first = first + 1 WHERE first = 3');
    db.close();
    const found = await run('check');
    assert.equal(found.code, 1);
    assert.match(found.err, /^run [0-9a-f-]+: The stored event log is damaged: event 3 is missing/m);
  });

  it('check does not call a store damaged that a newer gateway wrote', async () => {
    await store.close();
    edit(join(folder, 'runs.db'), 'PRAGMA user_version = 99');
    for (const newer of [await run('check'), await verify(folder)]) {
      assert.deepEqual([newer.code, newer.out], [1, '']);
      assert.match(
        newer.err,
        /runs\.db has version 99; this gateway knows \d+\. Check it with the gateway that wrote it/,
      );
    }
  });

  describe('verify', () => {
    it('accepts a backup and a store folder, with or without a running gateway', async () => {
      const sound = { code: 0, out: '1 run, 0 of them open; version 11\nEverything is in order.\n', err: '' };
      const copy = join(folder, 'copy.db');
      await run('backup', copy);
      assert.deepEqual(await verify(copy), sound);
      assert.deepEqual(await verify(folder), sound);
      await store.close();
      assert.deepEqual(await verify(folder), sound);
    });

    it('names what is damaged or missing, and files that are no store', async () => {
      const copy = join(folder, 'copy.db');
      await run('backup', copy);
      edit(copy, 'UPDATE batches SET first = first + 1 WHERE first = 3');
      const damaged = await verify(copy);
      assert.equal(damaged.code, 1);
      assert.match(damaged.err, /event 3 is missing/);
      edit(copy, 'UPDATE requests SET body = substr(body, 1, 5)');
      assert.match((await verify(copy)).err, /^requests: 1 row not whole \(body\)$/m);
      edit(copy, 'DELETE FROM requests');
      assert.match((await verify(copy)).err, /^run [0-9a-f-]+: its request is missing$/m);
      const torn = join(folder, 'torn.db');
      await writeFile(torn, (await readFile(copy)).fill(0, PAGE));
      const found = await verify(torn);
      assert.equal(found.code, 1);
      assert.match(found.err, /torn\.db cannot be read further: database disk image is malformed/);
      // Copying the files of a running gateway one by one may leave this.
      const part = join(folder, 'part');
      await mkdir(part);
      await cp(join(folder, 'runs.db'), join(part, 'runs.db'));
      await cp(join(folder, 'runs.db-open'), join(part, 'runs.db-open'));
      const lost = await verify(part);
      assert.equal(lost.code, 1);
      assert.match(lost.err, /runs\.db-wal is missing: what was stored last is gone/);
      const text = join(folder, 'text.db');
      await writeFile(text, 'no database'.repeat(1000));
      for (const [path, reason] of [
        [text, /text\.db cannot be read: file is not a database/],
        [join(folder, 'none'), /There is no .*none.runs\.db/],
        [join(part, 'other.db'), /There is no/],
      ] as const) {
        const { code, err } = await verify(path);
        assert.equal(code, 1);
        assert.match(err, reason);
      }
      edit(join(folder, 'other.db'), 'CREATE TABLE runs (id TEXT)');
      assert.match((await verify(join(folder, 'other.db'))).err, /no store of runs/);
    });
  });

  describe('restore', () => {
    let copy: string;
    beforeEach(async () => {
      copy = join(folder, 'copy.db');
      await run('backup', copy);
    });
    const reopened = () => {
      store = openSqliteStore(`file:${folder}`, { sync: 'normal', log: silentLogger });
      return store;
    };
    const kept = async () => (await readdir(folder)).filter((name) => /^runs\.db\.before-[^.]*Z$/.test(name));

    it('refuses while a gateway uses the store', async () => {
      const refused = await run('restore', copy, '--force');
      assert.equal(refused.code, 1);
      assert.match(refused.err, /Another process uses the store folder/);
      assert.deepEqual(await kept(), []);
    });

    it('replaces the store with a backup and keeps what was there', async () => {
      await store.close();
      const { code, out } = await run('restore', copy);
      assert.equal(code, 0);
      assert.match(
        out,
        /copy\.db is in place: 1 run, 0 of them open; version 11\.\nWhat was there is kept as .*runs\.db\.before-/,
      );
      const [before] = await kept();
      assert.equal((await verify(join(folder, String(before)))).code, 0);
      assert.equal((await reopened().countOpen()).queued, 0);
      assert.equal((await run('check')).code, 0);
    });

    it('restores into an empty folder', async () => {
      await store.close();
      for (const name of await readdir(folder)) {
        if (name.startsWith('runs.db') || name === 'lock.db') await rm(join(folder, name));
      }
      assert.equal((await run('restore', copy)).code, 0);
      assert.deepEqual(await kept(), []);
      assert.match((await run('check')).out, /^1 run,/);
    });

    it('replaces a store that cannot be read', async () => {
      await store.close();
      await writeFile(join(folder, 'runs.db'), 'no database'.repeat(1000));
      // A killed gateway leaves this file; beside the backup it would mean that a log is missing.
      await writeFile(join(folder, 'runs.db-open'), '');
      assert.equal((await run('restore', copy)).code, 0);
      const [before] = await kept();
      assert.ok((await readdir(folder)).includes(`${before}-open`));
      assert.deepEqual(await run('check'), {
        code: 0,
        out: '1 run, 0 of them open; version 11\nEverything is in order.\n',
        err: '',
      });
    });

    it('refuses if the store has newer runs, unless forced', async () => {
      await store.create(newRun());
      await store.close();
      const refused = await run('restore', copy);
      assert.equal(refused.code, 1);
      assert.match(refused.err, /holds what the backup does not: 1 newer .*--force/);
      assert.match((await verify(folder)).out, /^2 runs, 1 of them open/, 'nothing was touched');
      assert.equal((await run('restore', copy, '--force')).code, 0);
      assert.match((await run('check')).out, /^1 run,/);
      const [before] = await kept();
      assert.match((await verify(join(folder, String(before)))).out, /^2 runs/);
    });

    it('notices newer events of an open run, and accepts the folder of a killed gateway with its log', async () => {
      const { run: open, token } = await claimedRun(store);
      const later = join(folder, 'later.db');
      await run('backup', later);
      await store.append(open.id, events(token, 3, 4));
      // As a killed gateway leaves it: the last events are only in the write-ahead log.
      const left = join(folder, 'left');
      await mkdir(left);
      for (const name of ['runs.db', 'runs.db-wal', 'runs.db-shm']) await cp(join(folder, name), join(left, name));
      await store.close();
      assert.match((await run('restore', later)).err, /1 newer/);
      assert.equal((await run('restore', left)).code, 0, 'the folder of the killed one has the same');
      assert.match((await run('restore', later)).err, /1 newer/);
    });

    it('refuses a damaged backup unless forced, and always the store itself, a newer version or another kind', async () => {
      await store.close();
      edit(copy, 'UPDATE batches SET first = first + 1 WHERE first = 3');
      const damaged = await run('restore', copy);
      assert.equal(damaged.code, 1);
      assert.match(damaged.err, /copy\.db is damaged: run .*event 3 is missing.*\n.*--force/);
      assert.match((await run('restore', folder)).err, /is the store itself/);
      const forced = await run('restore', copy, '--force');
      assert.deepEqual([forced.code, /kept as/.test(forced.out)], [0, true], forced.err);
      assert.match(forced.err, /event 3 is missing/, 'it still says what is damaged');
      edit(copy, 'PRAGMA user_version = 99');
      assert.match((await run('restore', copy, '--force')).err, /version 99/);
      await configure('redis://:sk-redis-password@127.0.0.1:1/0');
      const redis = await run('restore', copy);
      assert.equal(redis.code, 1);
      assert.match(redis.err, /stop all gateways, then Redis.*dump\.rdb/);
      assert.match(
        redis.err,
        /appendonlydir away.*with appendonly no.*CONFIG SET appendonly yes/,
        'else it starts empty',
      );
      await configure('memory:');
      assert.match((await run('restore', copy)).err, /store\.url to file:/);
    });
  });
});

function edit(path: string, sql: string): void {
  using db = new DatabaseSync(path);
  db.exec(sql);
}
