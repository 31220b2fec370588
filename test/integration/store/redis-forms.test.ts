import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { randomUUID } from 'node:crypto';
import { once } from 'node:events';
import { mkdtemp, readdir, readFile, rm } from 'node:fs/promises';
import { connect, createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { pipeline } from 'node:stream';
import { Queue } from 'bullmq';
import slotOf from 'cluster-key-slot';
import { silentLogger } from '../../../src/base/logger.ts';
import { COMMANDS } from '../../../src/store/redis/connection/startup-checks.ts';
import { parseTarget } from '../../../src/store/redis/connection/target.ts';
import { RedisKeys } from '../../../src/store/redis/keys.ts';
import { openRedisStore, type RedisStorage } from '../../../src/store/redis/open.ts';
import type { RunStore } from '../../../src/store/run-store.ts';
import { claimedRun, endedRun, ending, events, LiveReader, newRun, readAll } from '../../contract/run-store-fixture.ts';
import { eventually } from '../../support/eventually.ts';
import { freePort } from '../../support/free-port.ts';
import { type RedisServer, redisOrSkip } from '../../support/redis.ts';
import {
  ask,
  type RedisCluster,
  type SentinelGroup,
  startCluster,
  startSentinels,
} from '../../support/redis-groups.ts';
import { patience } from '../../support/time-limit.ts';

describe('store.url', function () {
  // Clusters and sentinels are started, and fail over.
  this.timeout(patience(60));
  const addresses = (url: string) => parseTarget(url).nodes.map(({ host, port }) => `${host} ${port}`);

  it('names one server, a cluster or sentinels', () => {
    assert.deepEqual(addresses('redis://u:p@host/2'), ['host 6379']);
    assert.deepEqual(addresses('redis-cluster://a:7000,b,[::1]:7002'), ['a 7000', 'b 6379', '::1 7002']);
    assert.deepEqual(addresses('redis-sentinel://s1,s2:1/runs'), ['s1 26379', 's2 1']);
    const target = parseTarget('rediss-sentinel://u%40:p%3A%2F@s1/runs/3?sentinel_password=x%20y+z%2B');
    assert.deepEqual(
      [target.kind, target.username, target.password, target.master, target.database, target.sentinel, target.tls],
      ['sentinel', 'u@', 'p:/', 'runs', 3, { password: 'x y+z+' }, {}],
    );
  });

  it('is refused if a TLS file is missing', () => {
    assert.throws(() => parseTarget('rediss://a', { caFile: '/nowhere.pem' }), /store\.tls\.ca_file: \/nowhere\.pem/);
  });
});

describe('RedisKeys.markFor', function () {
  // Clusters and sentinels are started, and fail over.
  this.timeout(patience(60));
  it('lies in the slot of its key, whatever the name of the user', () => {
    const keys = new RedisKeys('runs', { shards: 16 });
    for (const user of ['ann', '{ann}', 'a{n}n', 'ann}', '}{', '{}', '{}}', 'ä{}{ö', '{'.repeat(3)]) {
      const list = keys.list(user, 'responses');
      assert.equal(slotOf(keys.markFor(list)), slotOf(list), user);
    }
    const run = keys.run(randomUUID());
    assert.equal(slotOf(keys.markFor(run)), slotOf(run));
  });
});

describe('a Redis with a private CA and a user with few rights', function () {
  // Clusters and sentinels are started, and fail over.
  this.timeout(patience(60));
  it('is used over TLS with store.tls, by a user who may not run INFO or CONFIG', async function () {
    if (spawnSync('openssl', ['version']).status !== 0 && !process.env.CI) return this.skip();
    const folder = await mkdtemp(join(tmpdir(), 'redis-tls-'));
    const [key, cert] = [join(folder, 'key.pem'), join(folder, 'cert.pem')];
    const subject = ['-subj', '/CN=redis.internal', '-addext', 'subjectAltName=DNS:redis.internal'];
    const made = spawnSync('openssl', [
      ...['req', '-x509', '-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:prime256v1', '-nodes', '-days', '2'],
      ...['-keyout', key, '-out', cert, ...subject],
    ]);
    assert.equal(made.status, 0, `openssl makes a certificate: ${made.error ?? made.stderr}`);
    const port = await freePort();
    await using server = await redisOrSkip(this, [
      ...['--tls-port', `${port}`, '--tls-cert-file', cert, '--tls-key-file', key, '--tls-ca-cert-file', cert],
      ...['--tls-auth-clients', 'yes'],
    ]);
    const rights = ['on', '>pa:ss', '~*', '&*', '+@all', '-@dangerous', '-@admin'];
    await ask(server.port, 'ACL', 'SETUSER', 'gateway', ...rights);
    const url = `rediss://gateway:${encodeURIComponent('pa:ss')}@127.0.0.1:${port}/0`;
    const tls = { caFile: cert, certFile: cert, keyFile: key };
    const options = { log: silentLogger, limitMs: 1000, connectLimitMs: 1500 };
    await assert.rejects(openRedisStore({ url, tls, ...options }), /127\.0\.0\.1.*certificate/);
    const serverName = 'redis.internal';
    // It says so twice, by an alert and by a reset; an error that nobody listens to would end the process.
    for (const refused of [url, `rediss://127.0.0.1:${port}/0`]) {
      const opening = openRedisStore({ url: refused, tls: { caFile: cert, serverName }, ...options });
      await assert.rejects(opening, /^Error: store\.url: /);
    }
    const storage = await openRedisStore({ url, tls: { ...tls, serverName }, ...options });
    const { run } = await endedRun(storage.runs);
    assert.equal((await storage.runs.get(run.id))?.status, 'completed');
    await canQueue(storage);
    await storage.runs.close();
    await rm(folder, { recursive: true });
  });
});

describe('the Redis user', function () {
  // Clusters and sentinels are started, and fail over.
  this.timeout(patience(60));
  const DOCUMENTED = ['~gateway:*', '~{gateway:queue}:*', '&gateway:*', '+@all', '-@dangerous', '-@admin'];
  let server: RedisServer;
  before(async function () {
    server = await redisOrSkip(this);
  });
  after(() => server?.[Symbol.asyncDispose]());

  const openAs = async (rights: readonly string[]) => {
    await ask(server.port, 'ACL', 'SETUSER', 'gateway', 'reset', 'on', '>secret', ...rights);
    const url = `redis://gateway:secret@127.0.0.1:${server.port}/3`;
    return await openRedisStore({ url, log: silentLogger, limitMs: 1000, connectLimitMs: 1500 });
  };

  it('needs only the documented rights, and not even CLIENT, INFO and CONFIG', async () => {
    const page = await readFile(new URL('../../../docs/scaling.md', import.meta.url), 'utf8');
    assert.ok(page.includes(`ACL SETUSER gateway on >secret ${DOCUMENTED.join(' ')}`), 'the rights are documented');
    const storage = await openAs([...DOCUMENTED, '-client', '-info', '-config']);
    const { run } = await endedRun(storage.runs);
    assert.equal((await storage.runs.get(run.id))?.status, 'completed');
    await canQueue(storage);
    assert.equal(await storage.limits.slots({ name: 'places' }).take('ann', run.id, { limit: 1, ttlMs: 1000 }), true);
    await storage.runs.close();
  });

  for (const [what, { rights, named }] of Object.entries({
    'the keys of the queue': { rights: DOCUMENTED.toSpliced(1, 1), named: 'NOPERM' },
    'the keys of runs': { rights: DOCUMENTED.toSpliced(0, 1), named: 'NOPERM' },
    'the channels': { rights: DOCUMENTED.toSpliced(2, 1), named: 'PUBLISH' },
    scripts: { rights: [...DOCUMENTED, '-@scripting'], named: 'NOPERM' },
    'some commands': { rights: [...DOCUMENTED, '-xadd', '-hset', '-lpush'], named: 'LPUSH, HSET, XADD' },
  })) {
    it(`without ${what} is refused at the start, with the rights that it needs`, async () => {
      const says = new RegExp(
        `^Error: store\\.url: .*${named}.* ~gateway:\\* and ~\\{gateway:queue\\}:\\*.*@dangerous`,
      );
      await assert.rejects(openAs(rights), says);
    });
  }

  it('is checked for every command of the store', async () => {
    const folder = new URL('../../../src/store/redis/', import.meta.url);
    const called = new Set<string>();
    for (const name of await readdir(folder, { recursive: true })) {
      if (!name.endsWith('.ts')) continue;
      const text = await readFile(new URL(name, folder), 'utf8');
      for (const [, command = ''] of text.matchAll(/(?:call\(|ommand\(\[?|= \[|\? |: )'([A-Z]{3,})'[,\s]/g))
        called.add(command);
    }
    // Scripts have run by then, and the rest may be missing.
    const others = ['ASKING', 'CLIENT', 'CONFIG', 'EVAL', 'EVALSHA', 'INFO'];
    assert.ok(called.size > 40, `${called.size} commands`);
    assert.deepEqual([...called.difference(new Set([...COMMANDS.join(' ').split(' '), ...others]))], []);
  });
});

describe('Redis with sentinels', function () {
  // Clusters and sentinels are started, and fail over.
  this.timeout(patience(60));
  let group: SentinelGroup;
  before(async function () {
    await (await redisOrSkip(this))[Symbol.asyncDispose]();
    group = await startSentinels();
  });
  after(() => group?.[Symbol.asyncDispose]());

  it('continues writers, readers, the queue and live streams on the new master after a failover', async () => {
    const prefix = randomUUID();
    const options = { url: group.url, log: silentLogger, prefix, limitMs: 1000 };
    const here = await openRedisStore(options);
    const there = await openRedisStore(options);
    await using queue = await here.openQueue();
    const { run, token } = await claimedRun(here.runs);
    const reader = new LiveReader(there.runs, run.id);
    using _ = await there.runs.subscribe(run.id, reader.handlers);
    await reader.catchUp();
    await here.runs.append(run.id, events(token, 3, 5));
    await caughtUp(group);

    await group.failOver();
    const after = await appendUntilDone(here.runs, run.id, token);
    assert.equal(after, 'ok');
    await eventually('the reader has the end', () => reader.last === 6 || undefined);
    assert.deepEqual(await reader.bytes(), (await readAll(there.runs, run.id)).bytes);
    await eventually('the queue works', () => queued(queue).catch((thrown) => queue.onFailure(thrown)));
    await Promise.all([here.runs.close(), there.runs.close()]);
  });

  it('reports an unknown master, and a sentinel that does not answer', async () => {
    const wrong = group.url.replace('/runs', '/other');
    const options = { log: silentLogger, connectLimitMs: 200 };
    await assert.rejects(openRedisStore({ url: wrong, ...options }), /does not know a master named other/);
    const none = 'redis-sentinel://127.0.0.1:1/runs';
    await assert.rejects(openRedisStore({ url: none, ...options }), /127\.0\.0\.1:1.*ECONNREFUSED/);
  });

  it('is waited for if its sentinel starts later than the gateway', async () => {
    const port = await freePort();
    const opening = openRedisStore({ url: group.urlBy(port), log: silentLogger, connectLimitMs: 60_000 });
    let isOpen = false;
    opening.then(
      () => {
        isOpen = true;
      },
      () => {},
    );
    await assert.rejects(ask(port, 'PING'), 'nothing is there yet');
    assert.equal(isOpen, false);
    const sentinel = createServer((socket) => {
      const there = connect(group.port, '127.0.0.1');
      pipeline(socket, there, socket, () => {});
    });
    await once(sentinel.listen(port, '127.0.0.1'), 'listening');
    await (await opening).runs.close();
    sentinel.close();
  });
});

describe('a Redis Cluster whose master dies', function () {
  // Clusters and sentinels are started, and fail over.
  this.timeout(patience(60));
  let cluster: RedisCluster;
  before(async function () {
    await (await redisOrSkip(this))[Symbol.asyncDispose]();
    cluster = await startCluster({ replicas: true });
  });
  after(() => cluster?.[Symbol.asyncDispose]());

  it('fails only the keys of that master, and continues with its replica', async () => {
    const prefix = randomUUID();
    const options = { url: cluster.url, log: silentLogger, prefix, limitMs: 1000 };
    const here = await openRedisStore(options);
    const there = await openRedisStore(options);
    await using queue = await here.openQueue();
    const [hit, spared] = [await claimedRun(here.runs), await claimedRun(here.runs)];
    const victim = await cluster.ownerOf(slotOf(`{${hit.run.id}}`));
    assert.ok(victim);
    const reader = new LiveReader(there.runs, hit.run.id);
    using _ = await there.runs.subscribe(hit.run.id, reader.handlers);
    await reader.catchUp();
    await here.runs.append(hit.run.id, events(hit.token, 3, 5));
    // The replica must be up to date, or the new master would lack the run.
    await eventually('the replica is up to date', async () => {
      const info = String(await ask(victim.port, 'INFO', 'replication'));
      const written = /^master_repl_offset:(\d+)/m.exec(info)?.[1];
      return written !== undefined && written === /^slave0:.*offset=(\d+)/m.exec(info)?.[1] ? true : undefined;
    });

    // Before it dies: its replica may own its slots soon after.
    const elsewhere = (await cluster.ownerOf(slotOf(`{${spared.run.id}}`)))?.port !== victim.port;
    await victim.kill();
    if (elsewhere) assert.equal((await here.runs.append(spared.run.id, events(spared.token, 3, 3))).result, 'ok');
    assert.equal(await appendUntilDone(here.runs, hit.run.id, hit.token), 'ok');
    await eventually('the reader has the end', () => reader.last === 6 || undefined);
    assert.deepEqual(await reader.bytes(), (await readAll(there.runs, hit.run.id)).bytes);
    await eventually('the queue works', () => queued(queue).catch((thrown) => queue.onFailure(thrown)));
    await eventually('new runs start', () => here.runs.create(newRun()).catch(() => undefined));
    await Promise.all([here.runs.close(), there.runs.close()]);
  });
});

describe('a Redis Cluster that moves a slot', function () {
  // Clusters and sentinels are started, and fail over.
  this.timeout(patience(60));
  it('takes writers and live readers along', async function () {
    await (await redisOrSkip(this))[Symbol.asyncDispose]();
    await using cluster = await startCluster();
    const options = { url: cluster.url, log: silentLogger, prefix: randomUUID() };
    const here = await openRedisStore(options);
    const there = await openRedisStore(options);
    const { run, token } = await claimedRun(here.runs);
    const reader = new LiveReader(there.runs, run.id);
    using _ = await there.runs.subscribe(run.id, reader.handlers);
    await reader.catchUp();

    const slot = slotOf(`{${run.id}}`);
    const from = await cluster.ownerOf(slot);
    const to = cluster.masters.find(({ port }) => port !== from?.port);
    assert.ok(from && to);
    await moveSlot(slot, from.port, to.port);
    assert.equal((await here.runs.append(run.id, events(token, 3, 5))).result, 'ok');
    assert.equal((await here.runs.append(run.id, ending(token, 6, 'completed'))).result, 'ok');
    await eventually('the reader hears of it', () => reader.last === 6 || undefined);
    assert.deepEqual(await reader.bytes(), (await readAll(there.runs, run.id)).bytes);
    await Promise.all([here.runs.close(), there.runs.close()]);
  });
});

/** Moves a slot with its keys to another master, as `redis-cli --cluster reshard` does. */
async function moveSlot(slot: number, from: number, to: number): Promise<void> {
  const [source, target] = [String(await ask(from, 'CLUSTER', 'MYID')), String(await ask(to, 'CLUSTER', 'MYID'))];
  await ask(to, 'CLUSTER', 'SETSLOT', `${slot}`, 'IMPORTING', source);
  await ask(from, 'CLUSTER', 'SETSLOT', `${slot}`, 'MIGRATING', target);
  const keys = await ask(from, 'CLUSTER', 'GETKEYSINSLOT', `${slot}`, '1000');
  assert.ok(Array.isArray(keys) && keys.length > 0);
  await ask(from, 'MIGRATE', '127.0.0.1', `${to}`, '', '0', '5000', 'KEYS', ...keys.map(String));
  for (const port of [to, from]) await ask(port, 'CLUSTER', 'SETSLOT', `${slot}`, 'NODE', target);
}

/** Appends the end until the store takes it, as an owner does while its store is away. */
async function appendUntilDone(store: RunStore, id: string, token: string): Promise<string> {
  return await eventually('the end is written', async () => {
    const { result } = await store.append(id, ending(token, 6, 'completed')).catch(() => ({ result: 'away' }));
    if (result === 'away') return undefined;
    return result === 'duplicate' ? 'ok' : result;
  });
}

async function caughtUp(group: SentinelGroup): Promise<void> {
  await ask(await group.masterPort(), 'WAIT', '1', '2000');
}

async function canQueue(storage: RedisStorage): Promise<void> {
  await using queue = await storage.openQueue();
  assert.equal(await queued(queue), true);
}

/** Whether a job can be added and is there. */
async function queued(connection: Awaited<ReturnType<RedisStorage['openQueue']>>): Promise<boolean> {
  const { client, prefix } = connection;
  const queue = new Queue('test', { connection: client, prefix, skipVersionCheck: true });
  queue.on('error', () => {});
  const job = await queue.add('run', {}, { jobId: randomUUID() });
  const found = await queue.getJob(job.id ?? '');
  return found !== undefined;
}
