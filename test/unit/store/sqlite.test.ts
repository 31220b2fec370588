import assert from 'node:assert/strict';
import { execFile, spawnSync } from 'node:child_process';
import {
  chmod,
  chown,
  copyFile,
  mkdir,
  mkdtemp,
  open,
  readdir,
  readFile,
  rename,
  rm,
  stat,
  truncate,
  writeFile,
} from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { promisify } from 'node:util';
import { systemClock } from '../../../src/base/clock.ts';
import { GatewayError } from '../../../src/base/errors.ts';
import { createLogger, silentLogger } from '../../../src/base/logger.ts';
import { openStorage } from '../../../src/store/open.ts';
import type { RunStore } from '../../../src/store/run-store.ts';
import { backUpDatabase, checkDatabase } from '../../../src/store/sqlite/maintenance.ts';
import { openSqliteStore } from '../../../src/store/sqlite/open.ts';
import { prepareDatabase } from '../../../src/store/sqlite/schema.ts';
import { SqliteRunStore } from '../../../src/store/sqlite/store.ts';
import {
  claimedRun,
  endedRun,
  ending,
  events,
  frames,
  LEASE,
  newRun,
  readAll,
} from '../../contract/run-store-fixture.ts';
import { eventually } from '../../support/eventually.ts';
import { mountDisk } from '../../support/mounted-disk.ts';
import { openStore } from '../../support/wrapped-store.ts';

const unavailable = (thrown: unknown) =>
  thrown instanceof GatewayError && thrown.code === 'store_unavailable' && (thrown.retryAfterMs ?? 0) > 0;

describe('the SQLite store in a folder', () => {
  let folder: string;
  let store: RunStore;
  beforeEach(async () => {
    folder = await mkdtemp(join(tmpdir(), 'sqlite-store-'));
    store = openSqliteStore(`file:${folder}`, { sync: 'normal', log: silentLogger });
  });
  afterEach(async () => {
    await store.close();
    await rm(folder, { recursive: true });
  });
  const reopen = async (sync: 'normal' | 'full' = 'normal') => {
    await store.close();
    store = openSqliteStore(`file:${folder}`, { sync, log: silentLogger });
  };

  it('survives a restart, and the runs of the former process can be claimed at once', async () => {
    const queued = newRun();
    await store.create(queued);
    const { run, token } = await claimedRun(store);
    await store.append(run.id, events(token, 3, 5, { transcript: ['{"step":1}'], progress: true }));
    await store.requestCancel(run.id);
    const ended = await endedRun(store);
    await reopen('full');
    assert.deepEqual(await store.countOpen(), { queued: 1, inProgress: 1 });
    assert.deepEqual(await readAll(store, run.id), { bytes: frames(1, 5), last: 5, end: false });
    assert.equal((await store.append(run.id, events(token, 6, 6))).result, 'fenced');
    assert.equal((await store.claimNext(LEASE))?.run.id, queued.id);
    const claim = await store.claimNext(LEASE);
    assert.equal(claim?.run.id, run.id);
    assert.equal(claim?.run.cancelRequested, true);
    assert.equal(claim?.attempts, 1);
    assert.deepEqual(await store.readTranscript(run.id), ['{"step":1}']);
    const end = ending(claim?.token ?? '', 6, 'completed');
    assert.deepEqual(await store.append(run.id, end), { result: 'cancelled', last: 5 });
    assert.equal((await store.get(ended.run.id))?.status, 'completed');
    assert.equal((await store.append(ended.run.id, ending(ended.token, 3, 'completed'))).result, 'duplicate');
  });

  it('checkpoints its write-ahead log while it is written to, and stays intact', async () => {
    const { run, token } = await claimedRun(store);
    const kilobytes = Buffer.from(`event: x\ndata: {"type":"x","text":"${'y'.repeat(64 * 1024)}"}\n\n`);
    // Less than a commit would move by itself.
    const last = 2 + Math.ceil((6 * 1024 ** 2) / kilobytes.length);
    for (let first = 3; first <= last; first++) {
      assert.equal((await store.append(run.id, { token, first, count: 1, frames: kilobytes })).result, 'ok');
    }
    const file = join(folder, 'runs.db');
    await eventually('it was moved', async () => ((await stat(file)).size > 5 * 1024 ** 2 ? true : undefined));
    assert.equal((await store.append(run.id, events(token, last + 1, last + 1))).result, 'ok');
    await reopen();
    assert.equal((await store.get(run.id))?.last, last + 1);
    assert.deepEqual(
      (await readdir(folder)).filter((name) => name.endsWith('-wal')),
      ['runs.db-wal'],
    );
    assert.equal((await checkDatabase(folder)).problems.length, 0);
  });

  it('opens without a run that has lost its events', async () => {
    const { run: spoilt } = await claimedRun(store);
    const { run: sound } = await claimedRun(store);
    await store.close();
    const db = new DatabaseSync(join(folder, 'runs.db'));
    db.prepare('DELETE FROM batches WHERE run = (SELECT key FROM runs WHERE id = ?)').run(spoilt.id);
    db.close();
    await reopen();
    assert.equal((await store.claimNext(LEASE))?.run.id, sound.id);
    assert.equal(await store.claimNext(LEASE), undefined);
  });

  it('counts attempts over restarts, to detect a run that kills its process', async () => {
    const run = newRun();
    await store.create(run);
    for (let attempt = 1; attempt <= 3; attempt++) {
      assert.equal((await store.claimNext(LEASE))?.attempts, attempt);
      await reopen();
    }
  });

  it('never issues a token twice, not even after a restart', async () => {
    const { run, token } = await claimedRun(store);
    await reopen();
    const claim = await store.claim(run.id, { ...LEASE, force: true });
    assert.notEqual(claim?.token, token);
  });

  it('refuses a second process, and suggests Redis for several', async () => {
    assert.throws(
      () => openSqliteStore(`file:${folder}`, { sync: 'normal', log: silentLogger }),
      /Another process.*redis:\/\//,
    );
    await store.close();
    await openSqliteStore(`file:${folder}`, { sync: 'normal', log: silentLogger }).close();
  });

  it('refuses a second process even if its lock was deleted', async () => {
    const { run, token } = await claimedRun(store);
    await rm(join(folder, 'lock.db'));
    assert.throws(
      () => openSqliteStore(`file:${folder}`, { sync: 'normal', log: silentLogger }),
      /Another process uses the store folder/,
    );
    assert.equal((await store.append(run.id, events(token, 3, 3))).result, 'ok');
  });

  it('starts while a tool has its database open', async () => {
    await endedRun(store);
    await store.close();
    const tool = new DatabaseSync(join(folder, 'runs.db'), { readOnly: true });
    tool.exec('BEGIN');
    tool.prepare('SELECT count(*) FROM runs').get();
    await reopen();
    assert.equal(await store.create(newRun()), 'created');
    tool.close();
  });

  it('has files that only its user can open', async () => {
    for (const file of await readdir(folder)) {
      if (file.startsWith('runs')) assert.equal((await stat(join(folder, file))).mode & 0o077, 0, file);
    }
  });

  it('refuses a database of another schema version, and leaves it unchanged', async () => {
    await store.close();
    const db = new DatabaseSync(join(folder, 'runs.db'));
    db.exec('PRAGMA user_version = 99');
    db.close();
    assert.throws(() => openSqliteStore(`file:${folder}`, { sync: 'normal', log: silentLogger }), /schema version 99/);
    const again = new DatabaseSync(join(folder, 'runs.db'));
    assert.equal(again.prepare('PRAGMA user_version').get()?.user_version, 99);
    again.close();
  });

  it('takes no new runs if its file is deleted or replaced, and says why; open runs go on', async () => {
    const { run, token } = await claimedRun(store);
    const path = join(folder, 'runs.db');
    for (const spoil of ['deleted', 'replaced'] as const) {
      await rename(path, `${path}.away`);
      if (spoil === 'replaced') await writeFile(path, '');
      const state = await store.check();
      assert.match(state.ok ? '' : state.reason, new RegExp(`runs\\.db was ${spoil} under the running gateway`));
      await assert.rejects(store.create(newRun()), unavailable);
      assert.notEqual((await store.append(run.id, events(token, 3, 3))).result, 'fenced');
      await rename(`${path}.away`, path);
      assert.deepEqual(await store.check(), { ok: true });
      assert.equal(await store.create(newRun()), 'created');
    }
  });

  for (const file of ['runs.db-wal', 'runs.db-shm', 'lock.db']) {
    it(`takes no new runs if ${file} is deleted, and says why; open runs go on and survive a restart`, async () => {
      const { run, token } = await claimedRun(store);
      await rm(join(folder, file));
      const state = await store.check();
      assert.match(state.ok ? '' : state.reason, new RegExp(`^${file} was deleted under the running gateway`));
      await assert.rejects(store.create(newRun()), unavailable);
      assert.equal((await store.append(run.id, events(token, 3, 3))).result, 'ok');
      await reopen();
      assert.equal((await readAll(store, run.id)).last, 3);
      assert.deepEqual(await store.check(), { ok: true });
    });
  }

  for (const file of ['runs.db', 'runs.db-wal']) {
    it(`takes no new runs if ${file} was cut off, and says why, even once it has grown again`, async () => {
      for (let n = 0; n < 20; n++) await endedRun(store, { request: 'x'.repeat(20_000) });
      // What was moved into the database is not in the log any more.
      if (file === 'runs.db') await reopen();
      const { run, token } = await claimedRun(store);
      assert.deepEqual(await store.check(), { ok: true });
      await truncate(join(folder, file), file === 'runs.db' ? 100_000 : 0);
      await store.append(run.id, events(token, 3, 3));
      const state = await store.check();
      assert.match(state.ok ? '' : state.reason, new RegExp(`^${file} was cut off under the running gateway`));
      await assert.rejects(store.create(newRun()), unavailable);
    });
  }

  it('takes no new runs if its pages fail their check, and says why', async () => {
    const runs: string[] = [];
    for (let n = 0; n < 50; n++) runs.push((await endedRun(store, { request: 'x'.repeat(20_000) })).run.id);
    await reopen();
    const file = await open(join(folder, 'runs.db'), 'r+');
    const { size } = await file.stat();
    // Everything but the first pages, which hold the tables' names.
    await file.write(Buffer.alloc(size - 40 * 8192, 0xaa), 0, size - 40 * 8192, 40 * 8192);
    await file.close();
    const reads = await Promise.allSettled(runs.map((id) => store.get(id)));
    assert.ok(reads.some(({ status }) => status === 'rejected'));
    const state = await store.check();
    assert.match(state.ok ? '' : state.reason, /damaged.*restore a backup|malformed/);
    await assert.rejects(store.create(newRun()), GatewayError);
  });

  it('says what to do if there is no room for a backup', async function () {
    const disk = await mountDisk('16k');
    if (!disk) return this.skip();
    await using _ = disk;
    const full = /runs\.db cannot be written: .*full\. Free space on its disk, or name a file on another one\.$/;
    assert.throws(() => backUpDatabase(folder, join(disk.path, 'runs.db')), full);
  });

  it('can be checked and backed up while in use, and the check finds damage', async () => {
    const { run } = await endedRun(store, { request: '{"a":"request"}' });
    const live = await claimedRun(store);
    await endedRun(store);
    await store.compressEnded({ endedForMs: 0, limit: 1 });
    assert.deepEqual(await checkDatabase(folder), { summary: '3 runs, 1 of them open; version 11', problems: [] });
    const copy = join(folder, 'backup');
    await mkdir(copy);
    backUpDatabase(folder, join(copy, 'runs.db'));
    assert.throws(() => backUpDatabase(folder, join(copy, 'runs.db')), /is there already: name another/);
    const nowhere = /nowhere.runs\.db cannot be written: ENOENT.* Name a file in a folder that is there/;
    assert.throws(() => backUpDatabase(folder, join(copy, 'nowhere', 'runs.db')), nowhere);
    assert.equal((await stat(join(copy, 'runs.db'))).mode & 0o077, 0);
    await store.append(live.run.id, events(live.token, 3, 3));
    const restored = openSqliteStore(`file:${copy}`, { sync: 'normal', log: silentLogger });
    assert.equal((await restored.get(run.id))?.request, '{"a":"request"}');
    assert.equal((await restored.get(live.run.id))?.last, 2);
    await restored.close();

    const db = new DatabaseSync(join(copy, 'runs.db'));
    db.prepare('DELETE FROM batches WHERE run = (SELECT key FROM runs WHERE id = ?) AND first = 1').run(live.run.id);
    db.prepare('UPDATE sealed_logs SET log = substr(log, 1, length(log) - 1)').run();
    db.close();
    const { problems } = await checkDatabase(copy);
    assert.equal(problems.length, 2);
    assert.ok(problems.some((problem) => /compressed event log is damaged/.test(problem)));
    assert.ok(problems.includes(`run ${live.run.id}: its log has no events`));
    await assert.rejects(checkDatabase(join(folder, 'none')), /There is no/);
  });

  it('keeps claims if the wall clock is changed', async () => {
    const { run, token } = await claimedRun(store);
    const { now } = Date;
    try {
      Date.now = () => now() + 3_600_000;
      assert.equal(await store.claimNext(LEASE), undefined);
      Date.now = () => now() - 3_600_000;
      await store.release(run.id, { token });
      const claim = await store.claim(run.id, { ...LEASE, leaseMs: 0, force: false });
      assert.ok(claim);
      assert.equal((await store.claimNext(LEASE))?.run.id, run.id);
    } finally {
      Date.now = now;
    }
  });

  it('recognises repeated submissions after a restart', async () => {
    const key = { hash: 'a', fingerprint: 'body', ttlMs: 60_000 };
    const open = newRun({ keys: [{ kind: 'retry', ...key }] });
    await store.create(open);
    const ended = await endedRun(store, { keys: [{ kind: 'idempotency', ...key }] });
    await store.delete(ended.run.id);
    await reopen();
    assert.equal((await store.findKey([{ kind: 'retry', hash: 'a' }]))?.run?.id, open.id);
    assert.deepEqual(await store.findKey([{ kind: 'idempotency', hash: 'a' }]), {
      kind: 'idempotency',
      fingerprint: 'body',
      runId: ended.run.id,
      run: undefined,
    });
  });

  it('names the folder and the fix if it cannot be opened', async () => {
    const file = join(folder, 'file');
    await writeFile(file, '');
    const damaged = join(folder, 'damaged');
    await mkdir(damaged);
    await writeFile(join(damaged, 'runs.db'), 'no database'.repeat(1000));
    const opening = (path: string) => () => openSqliteStore(`file:${path}`, { sync: 'normal', log: silentLogger });
    assert.throws(opening(file), /The store folder .*file cannot be used: .* set store\.url/);
    assert.throws(opening(damaged), /The store folder .*damaged cannot be used: .*Restore runs\.db from a backup/);
    const inTheWay = join(folder, 'in-the-way');
    await mkdir(join(inTheWay, 'runs.db'), { recursive: true });
    assert.throws(opening(inTheWay), /Move the directory runs\.db away/);
  });

  it('says that a damaged lock.db can be deleted without loss', async () => {
    const kept = join(folder, 'kept');
    const opening = () => openSqliteStore(`file:${kept}`, { sync: 'normal', log: silentLogger });
    const before = opening();
    const { run } = await endedRun(before, { user: 'ann' });
    await before.close();
    await writeFile(join(kept, 'lock.db'), 'no database'.repeat(1000));
    assert.throws(opening, (thrown: Error) => {
      assert.match(thrown.message, /kept cannot be used: lock\.db: .* Delete lock\.db, which holds nothing\.$/);
      return true;
    });
    await rm(join(kept, 'lock.db'));
    await mkdir(join(kept, 'lock.db'));
    assert.throws(opening, /lock\.db: unable to open database file/);
    await rm(join(kept, 'lock.db'), { recursive: true });
    const after = opening();
    assert.equal((await after.get(run.id))?.status, 'completed');
    await after.close();
  });

  it('warns that it starts empty if its database was emptied', async () => {
    const emptied = join(folder, 'emptied');
    const lines: string[] = [];
    const log = createLogger({ destination: { write: (line: string) => void lines.push(line) } });
    const opening = () => openSqliteStore(`file:${emptied}`, { sync: 'normal', log });
    await opening().close();
    await opening().close();
    assert.deepEqual(lines, []);
    await writeFile(join(emptied, 'runs.db'), '');
    await opening().close();
    assert.match(lines.join(), /"level":40.*starts empty/);
  });

  it('is refused and left unchanged if it belongs to another user or is read-only', async function () {
    // Who may do everything starts somebody who may not.
    if (process.getuid?.() !== 0) return this.skip();
    const foreign = join(folder, 'foreign');
    await openSqliteStore(`file:${foreign}`, { sync: 'normal', log: silentLogger }).close();
    const before = await readFile(join(foreign, 'runs.db'));
    const opening = `
      import { openSqliteStore } from ${JSON.stringify(new URL('../../../src/store/sqlite/open.ts', import.meta.url).href)};
      import { silentLogger } from ${JSON.stringify(new URL('../../../src/base/logger.ts', import.meta.url).href)};
      process.setgid(65534);
      process.setuid(65534);
      try {
        openSqliteStore(${JSON.stringify(`file:${foreign}`)}, { sync: 'normal', log: silentLogger });
      } catch (thrown) {
        process.stdout.write(thrown.message);
      }`;
    await chmod(folder, 0o755);
    for (const [mode, owner] of [
      [0o755, 0],
      [0o555, 65_534],
    ] as const) {
      await chmod(foreign, mode);
      await chown(foreign, owner, owner);
      const { stdout } = await promisify(execFile)(process.execPath, ['--input-type=module', '--eval', opening]);
      assert.match(stdout, /foreign cannot be used: .*Give the folder and its files to this user, or set store\.url/);
    }
    assert.ok(before.equals(await readFile(join(foreign, 'runs.db'))));
  });

  it('says that a file system is read-only', async function () {
    const disk = await mountDisk('8m');
    if (!disk) return this.skip();
    await using _ = disk;
    const opening = () => openSqliteStore(`file:${disk.path}`, { sync: 'normal', log: silentLogger });
    await opening().close();
    spawnSync('mount', ['-o', 'remount,ro', disk.path]);
    assert.throws(opening, /Its file system is read-only: mount it for writing/);
  });

  it('stays at its version on a disk too full to migrate, and leaves no partial copy', async function () {
    const disk = await mountDisk('500k');
    if (!disk) return this.skip();
    await using _ = disk;
    const db = new DatabaseSync(join(disk.path, 'runs.db'));
    db.exec(await readFile(new URL('../../fixtures/stores/v1/sqlite.sql', import.meta.url), 'utf8'));
    db.close();
    const filling = join(disk.path, 'filling');
    await writeFile(filling, Buffer.alloc(1_000_000)).catch(() => {});
    await truncate(filling, (await stat(filling)).size - 100_000);
    const opening = () => openSqliteStore(`file:${disk.path}`, { sync: 'normal', log: silentLogger });
    assert.throws(opening, /no space left.*Free space on its disk/);
    assert.deepEqual((await readdir(disk.path)).sort(), ['filling', 'lock.db', 'runs.db']);
    await rm(filling);
    spawnSync('mount', ['-o', 'remount,size=5m', disk.path]);
    const store = opening();
    assert.ok((await store.countOpen()).queued >= 0);
    await store.close();
    assert.ok((await readdir(disk.path)).includes('runs.db.v1'));
  });

  describe('keeps a copy of the database that it migrates', () => {
    const first = new URL('../../fixtures/stores/v1/sqlite.sql', import.meta.url);
    const opening = (at: string) => openSqliteStore(`file:${at}`, { sync: 'normal', log: silentLogger });
    /** Writes a user into the first version's database, and leaves that in the write-ahead log. */
    const useAs = (path: string, user: string): DatabaseSync => {
      const db = new DatabaseSync(path);
      db.exec(`PRAGMA journal_mode = WAL; PRAGMA wal_autocheckpoint = 0; UPDATE runs SET user = '${user}'`);
      return db;
    };
    const usersOf = (path: string) => {
      const db = new DatabaseSync(path, { readOnly: true });
      const users = db.prepare('SELECT DISTINCT user FROM runs').all();
      db.close();
      return users.map(({ user }) => user);
    };

    it('as it is now, if an earlier copy was put back and used', async () => {
      const at = join(folder, 'again');
      await mkdir(at);
      const path = join(at, 'runs.db');
      const db = new DatabaseSync(path);
      db.exec(await readFile(first, 'utf8'));
      db.close();
      await opening(at).close();
      await copyFile(`${path}.v1`, path);
      useAs(path, 'later').close();
      await opening(at).close();
      assert.deepEqual(usersOf(`${path}.v1`), ['later']);
    });

    it('with what is in its write-ahead log alone, while another program reads it', async () => {
      const at = join(folder, 'read');
      await mkdir(at);
      await writeFile(join(at, 'lock.db'), '');
      const path = join(at, 'runs.db');
      const db = new DatabaseSync(path);
      db.exec(await readFile(first, 'utf8'));
      const writing = useAs(path, 'before');
      db.close();
      const reading = new DatabaseSync(path, { readOnly: true });
      reading.exec('BEGIN; SELECT count(*) FROM runs');
      writing.exec("UPDATE runs SET user = 'last'");
      writing.close();
      await opening(at).close();
      reading.close();
      assert.deepEqual(usersOf(`${path}.v1`), ['last']);
    });
  });

  it('names the migration that failed, and where the old database is kept', async () => {
    const old = join(folder, 'old');
    await mkdir(old);
    const db = new DatabaseSync(join(old, 'runs.db'));
    db.exec('CREATE TABLE runs (id TEXT); CREATE TABLE submission_keys (id TEXT); PRAGMA user_version = 1;');
    db.close();
    const opening = () => openSqliteStore(`file:${old}`, { sync: 'normal', log: silentLogger });
    assert.throws(opening, (thrown: Error) => {
      assert.match(thrown.message, /could not be migrated to schema version 2: .*submission_keys/);
      assert.match(thrown.message, /kept beside it as runs\.db\.v1/);
      assert.doesNotMatch(thrown.message, /may write to/);
      return true;
    });
    const kept = new DatabaseSync(join(old, 'runs.db'));
    assert.equal(kept.prepare('PRAGMA user_version').get()?.user_version, 1);
    kept.close();
  });

  it('says so if another program has it open', async () => {
    const used = join(folder, 'used');
    const opening = () => openSqliteStore(`file:${used}`, { sync: 'normal', log: silentLogger });
    await opening().close();
    const db = new DatabaseSync(join(used, 'runs.db'));
    db.exec('PRAGMA locking_mode = EXCLUSIVE; BEGIN EXCLUSIVE; COMMIT');
    assert.throws(opening, /Another program has runs\.db open/);
    db.close();
  });

  it('refuses calls once it is closed', async () => {
    await store.close();
    await assert.rejects(store.create(newRun()), unavailable);
    await assert.rejects(store.get('x'), unavailable);
    assert.equal((await store.check()).ok, false);
    await store.close();
  });

  it('finishes pending calls before it closes', async () => {
    const run = newRun();
    const created = store.create(run);
    await reopen();
    assert.equal(await created, 'created');
    assert.equal((await store.get(run.id))?.status, 'queued');
  });
});

describe('SqliteRunStore', () => {
  function open() {
    const db = new DatabaseSync(':memory:');
    prepareDatabase(db, { sync: 'normal' });
    return {
      db,
      store: new SqliteRunStore(db, {
        log: silentLogger,
        clock: systemClock,
        steady: systemClock,
        onClose: () => {},
      }),
    };
  }

  it('refuses writes while the disk is full, and continues without a gap once there is room', async () => {
    const { db, store } = open();
    const { run, token } = await claimedRun(store);
    const pages = Number(db.prepare('PRAGMA page_count').get()?.page_count);
    db.exec(`PRAGMA max_page_count = ${pages + 4}`);
    const big = events(token, 3, 3, { frames: frames(3, 3, 'x'.repeat(100_000)), transcript: ['{}'] });
    await assert.rejects(store.append(run.id, big), unavailable);
    await assert.rejects(store.append(run.id, big), /the disk is full/);
    await assert.rejects(store.create(newRun({ request: 'x'.repeat(100_000) })), unavailable);
    assert.deepEqual(await store.countOpen(), { queued: 0, inProgress: 1 });
    assert.deepEqual(await readAll(store, run.id), { bytes: frames(1, 2), last: 2, end: false });
    db.exec('PRAGMA max_page_count = 1000000');
    assert.equal((await store.append(run.id, big)).result, 'ok');
    assert.deepEqual(await store.readTranscript(run.id), ['{}']);
    assert.deepEqual(await store.check(), { ok: true });
    await store.close();
  });

  it('leaves a run open and its claim alive if its end cannot be written', async () => {
    const { db, store } = open();
    const { run, token } = await claimedRun(store);
    const pages = Number(db.prepare('PRAGMA page_count').get()?.page_count);
    db.exec(`PRAGMA max_page_count = ${pages}`);
    const end = ending(token, 3, 'completed', { frames: frames(3, 3, 'x'.repeat(100_000)) });
    await assert.rejects(store.append(run.id, end), unavailable);
    db.exec('PRAGMA max_page_count = 1000000');
    assert.equal((await store.get(run.id))?.status, 'in_progress');
    assert.deepEqual(await store.renew(run.id, { ...LEASE, token }), { result: 'ok', cancel: false });
    assert.equal((await store.append(run.id, end)).result, 'ok');
    await store.close();
  });

  it('undoes the end of a run if another write makes the commit fail', async () => {
    const { db, store } = open();
    const { run, token } = await claimedRun(store);
    const pages = Number(db.prepare('PRAGMA page_count').get()?.page_count);
    db.exec(`PRAGMA max_page_count = ${pages + 2}`);
    const end = ending(token, 3, 'completed');
    const results = await Promise.allSettled([
      store.append(run.id, end),
      store.create(newRun({ request: 'x'.repeat(100_000) })),
    ]);
    assert.deepEqual(
      results.map((result) => result.status),
      ['rejected', 'rejected'],
    );
    db.exec('PRAGMA max_page_count = 1000000');
    assert.deepEqual(await store.countOpen(), { queued: 0, inProgress: 1 });
    assert.equal((await store.append(run.id, end)).result, 'ok');
    await store.close();
  });

  it('undoes a claim, cancel, release or removal if another write makes the commit fail', async () => {
    const { db, store } = open();
    const claimedByUs = await claimedRun(store);
    const queued = newRun();
    await store.create(queued);
    /** Does `change` in one transaction with a write that the disk has no room for. */
    const withoutRoom = async (change: () => Promise<unknown>) => {
      const pages = Number(db.prepare('PRAGMA page_count').get()?.page_count);
      db.exec(`PRAGMA max_page_count = ${pages}`);
      const all = await Promise.allSettled([change(), store.create(newRun({ request: 'x'.repeat(100_000) }))]);
      db.exec('PRAGMA max_page_count = 1000000');
      assert.ok(all.every(({ status }) => status === 'rejected'));
    };
    const { id } = claimedByUs.run;
    await withoutRoom(() => store.claim(queued.id, { ...LEASE, force: true }));
    assert.deepEqual(await store.countOpen(), { queued: 1, inProgress: 1 });
    assert.ok((await store.findClaimable({ limit: 10 })).includes(queued.id), 'it is free as before');

    await withoutRoom(() => store.requestCancel(id));
    assert.deepEqual(await store.renew(id, { ...LEASE, token: claimedByUs.token }), { result: 'ok', cancel: false });

    await withoutRoom(() => store.release(id, { token: claimedByUs.token }));
    assert.equal(await store.claim(id, { ...LEASE, force: false }), undefined, 'it is held as before');

    await withoutRoom(() => store.delete(id));
    assert.equal((await store.append(id, events(claimedByUs.token, 3, 3))).result, 'ok');
    await store.close();
  });

  it('commits calls made at the same time even if one of them fails', async () => {
    const { store } = open();
    const good = newRun();
    const bad = newRun({ createdAt: Number.NaN });
    const [first, failed, second] = await Promise.allSettled([
      store.create(good),
      store.create(bad),
      store.create(newRun()),
    ]);
    assert.equal(first?.status, 'fulfilled');
    assert.equal(second?.status, 'fulfilled');
    assert.ok(failed?.status === 'rejected' && failed.reason instanceof GatewayError);
    assert.equal(failed.reason.code, 'internal_error');
    assert.equal((await store.get(good.id))?.status, 'queued');
    assert.deepEqual(await store.countOpen(), { queued: 2, inProgress: 0 });
    await store.close();
  });

  it('notifies readers of a batch only after its commit', async () => {
    const { db, store } = open();
    const { run, token } = await claimedRun(store);
    let committed: number | undefined;
    using _ = await store.subscribe(run.id, {
      onBatch: () => {
        committed = db.isTransaction ? 0 : 1;
      },
      onGap: () => {},
    });
    await store.append(run.id, events(token, 3, 3));
    assert.equal(committed, 1);
    await store.close();
  });

  it('fails loudly if events are missing from a log', async () => {
    const { db, store } = open();
    const { run, token } = await claimedRun(store);
    for (const n of [3, 4, 5]) await store.append(run.id, events(token, n, n));
    db.exec('DELETE FROM batches WHERE first = 4');
    const damaged = (thrown: unknown) => thrown instanceof GatewayError && thrown.code === 'internal_error';
    await assert.rejects(store.read(run.id, { after: 0, maxBytes: 1_000_000 }), damaged);
    await assert.rejects(store.read(run.id, { after: 3, maxBytes: 1_000_000 }), damaged);
    db.exec('DELETE FROM batches WHERE first = 5');
    await assert.rejects(store.read(run.id, { after: 3, maxBytes: 1_000_000 }), damaged);
    await store.append(run.id, ending(token, 6, 'completed'));
    await endedRun(store);
    // It does not keep others from being compressed, and is not tried again and again.
    const turns = [];
    for (let n = 0; n < 3; n++) turns.push(await store.compressEnded({ endedForMs: 0, limit: 1 }));
    assert.deepEqual(turns, [1, 1, 0]);
    await assert.rejects(store.read(run.id, { after: 0, maxBytes: 1_000_000 }), damaged);
    await store.close();
  });
});

describe('opening a store', () => {
  it('opens runs and caches for memory:', async () => {
    const config = { url: 'memory:', retentionMs: 3_600_000, sync: 'normal' } as const;
    await using storage = await openStorage(config, { log: silentLogger });
    assert.deepEqual(await storage.runs.check(), { ok: true });
    const cache = storage.caches.open({ namespace: 'x', parse: (value) => value });
    await cache.set('key', [1], 1000);
    assert.deepEqual(await cache.get('key'), [1]);
    await (await openStore(config, { log: silentLogger })).close();
  });

  it('creates missing folders, and names one that cannot be used', async () => {
    const folder = await mkdtemp(join(tmpdir(), 'sqlite-store-'));
    const config = { url: `file:${join(folder, 'a/b')}`, retentionMs: 3_600_000, sync: 'normal' } as const;
    await (await openStore(config, { log: silentLogger })).close();
    const file = { ...config, url: `file:${join(folder, 'a/b/runs.db')}` };
    await assert.rejects(openStore(file, { log: silentLogger }), /runs\.db/);
    await rm(folder, { recursive: true });
  });
});
