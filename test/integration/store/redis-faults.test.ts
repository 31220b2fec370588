import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { once } from 'node:events';
import { connect, createServer, type Socket } from 'node:net';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { createClient } from '@redis/client';
import { GatewayError } from '../../../src/base/errors.ts';
import { silentLogger } from '../../../src/base/logger.ts';
import type { Caches } from '../../../src/store/cache.ts';
import { openRedisStore } from '../../../src/store/redis/open.ts';
import type { RunStore } from '../../../src/store/run-store.ts';
import {
  claimedRun,
  endedRun,
  ending,
  events,
  frames,
  LEASE,
  LiveReader,
  newRun,
  readAll,
  T0,
  type TestClock,
  testClock,
} from '../../contract/run-store-fixture.ts';
import { eventually } from '../../support/eventually.ts';
import { fairMs } from '../../support/fair-time.ts';
import { type RedisServer, redisOrSkip, SYNC_ALWAYS } from '../../support/redis.ts';
import { patience } from '../../support/time-limit.ts';

const LIMIT_MS = 400;

function unavailable(thrown: unknown): boolean {
  return thrown instanceof GatewayError && thrown.code === 'store_unavailable' && (thrown.retryAfterMs ?? 0) > 0;
}

/** Asserts that the work fails as unavailable within the command limit. */
async function unavailableInTime(work: () => Promise<unknown>): Promise<void> {
  const started = performance.now();
  await assert.rejects(work(), unavailable);
  assert.ok(fairMs(performance.now() - started) < 10 * LIMIT_MS, 'the call fails within its time limit');
}

/** A TCP address that leads to a port on loopback; new connections follow a move, old ones stay. */
async function movableAddress(port: number) {
  let target = port;
  const sockets = new Set<Socket>();
  const proxy = createServer((client) => {
    const upstream = connect(target, '127.0.0.1');
    for (const socket of [client, upstream]) {
      sockets.add(socket);
      socket.on('error', () => {}).on('close', () => [client, upstream].forEach((one) => void one.destroy()));
    }
    client.pipe(upstream).pipe(client);
  });
  proxy.listen(0, '127.0.0.1');
  await once(proxy, 'listening');
  const address = proxy.address();
  assert.ok(address !== null && typeof address === 'object');
  return {
    url: `redis://127.0.0.1:${address.port}/0`,
    move(next: number) {
      target = next;
    },
    async [Symbol.asyncDispose]() {
      for (const socket of sockets) socket.destroy();
      proxy.close();
    },
  };
}

describe('the Redis store when Redis fails', function () {
  // Redis is frozen and comes back.
  this.timeout(patience(30));
  let server: RedisServer;
  let store: RunStore;
  let caches: Caches;
  let peer: RunStore;
  let clock: TestClock;
  let admin: { (...args: string[]): Promise<unknown>; close(): Promise<void> };
  const prefix = randomUUID();

  before(async function () {
    server = await redisOrSkip(this, SYNC_ALWAYS);
  });
  after(() => server?.[Symbol.asyncDispose]());

  beforeEach(async () => {
    clock = testClock();
    const options = { url: server.url, log: silentLogger, limitMs: LIMIT_MS, prefix, clock };
    ({ runs: store, caches } = await openRedisStore(options));
    ({ runs: peer } = await openRedisStore(options));
    const client = createClient({ url: server.url });
    client.on('error', () => {});
    await client.connect();
    admin = Object.assign((...args: string[]) => client.sendCommand<unknown>(args), {
      close: async () => client.destroy(),
    });
  });
  afterEach(async () => {
    server.thaw();
    await Promise.all([store.close(), peer.close(), admin.close()]);
  });
  const connections = async () =>
    String(await admin('CLIENT', 'LIST'))
      .trim()
      .split('\n').length;
  const recovered = (which: RunStore) =>
    eventually('the store works again', async () => (await which.check()).ok || undefined);

  it('frozen: every call fails within its limit, and all works after it wakes up', async () => {
    const { run, token } = await claimedRun(store);
    const reader = new LiveReader(peer, run.id);
    using _ = await peer.subscribe(run.id, reader.handlers);
    server.freeze();
    const batch = events(token, 3, 5, { transcript: ['{}'] });
    await unavailableInTime(() => store.append(run.id, batch));
    // The connection is known to be dead by now, so the other calls neither wait nor are sent later.
    const started = performance.now();
    await unavailableInTime(() => store.get(run.id));
    await unavailableInTime(() => store.create(newRun()));
    await unavailableInTime(() => store.requestCancel(run.id));
    await unavailableInTime(() => store.claimNext(LEASE));
    await unavailableInTime(() => store.list({ user: 'ada', api: 'responses', limit: 10 }));
    assert.ok(fairMs(performance.now() - started) < 5 * LIMIT_MS, 'five calls take less than if each had waited');
    await unavailableInTime(() => peer.read(run.id, { after: 0, maxBytes: 1000 }));
    const state = await store.check();
    assert.ok(!state.ok && /Redis/.test(state.reason));
    server.thaw();
    await recovered(store);
    await recovered(peer);
    // Whether the first attempt arrived is unknown; the repeat finds out.
    const { result, ...answer } = await store.append(run.id, batch);
    assert.ok('cancel' in answer && !answer.cancel);
    assert.ok(result === 'ok' || result === 'duplicate', result);
    assert.equal((await store.append(run.id, events(token, 6, 6))).result, 'ok');
    assert.deepEqual((await readAll(store, run.id)).bytes, frames(1, 6));
    assert.deepEqual(await store.readTranscript(run.id), ['{}']);
    await eventually('the reader has it all', () => reader.last === 6 || undefined);
    assert.deepEqual(await reader.bytes(), frames(1, 6));
  });

  it('a reply that arrived while this process was not running is read', async () => {
    const { run } = await claimedRun(store);
    server.freeze();
    const found = store.get(run.id);
    // Commands are written at the end of a turn.
    await nextTurn();
    await nextTurn();
    server.thaw();
    const until = performance.now() + 1.5 * LIMIT_MS;
    while (performance.now() < until);
    assert.equal((await found)?.id, run.id);
  });

  it('subscribing while frozen fails in time and leaves nothing behind', async () => {
    const { run, token } = await claimedRun(store);
    server.freeze();
    let delivered = 0;
    const handlers = { onBatch: () => delivered++, onGap: () => {} };
    await unavailableInTime(() => peer.subscribe(run.id, handlers));
    server.thaw();
    await recovered(store);
    using _ = await eventually('a subscription', () => peer.subscribe(run.id, handlers).catch(() => undefined));
    await store.append(run.id, events(token, 3, 3));
    await eventually('one delivery', () => delivered > 0 || undefined);
    assert.equal(delivered, 1);
  });

  it('killed and restarted: no acknowledged event is lost, and live readers continue', async () => {
    // With `everysec` Redis acknowledges before it writes where the disk is still busy with the last second.
    await admin('CONFIG', 'SET', 'appendfsync', 'always');
    const { run, token } = await claimedRun(store);
    const reader = new LiveReader(peer, run.id);
    using _ = await peer.subscribe(run.id, reader.handlers);
    for (let n = 3; n < 103; n++) await store.append(run.id, events(token, n, n));
    await server.kill();
    await unavailableInTime(() => store.append(run.id, events(token, 103, 103)));
    await unavailableInTime(() => store.get(run.id));
    assert.equal((await store.check()).ok, false);
    await server.start();
    await recovered(store);
    await recovered(peer);
    assert.equal((await store.append(run.id, events(token, 103, 104))).result, 'ok');
    assert.deepEqual((await readAll(store, run.id)).bytes, frames(1, 104));
    await eventually('the reader was told', () => reader.gaps > 0 || undefined);
    await eventually('the reader has it all', () => reader.last === 104 || undefined);
    assert.equal((await store.append(run.id, events(token, 105, 105))).result, 'ok');
    await eventually('live again', () => reader.last === 105 || undefined);
    assert.deepEqual(await reader.bytes(), frames(1, 105));
  });

  it('out of memory: writes are rejected as a whole, reads work, and all works again with free memory', async () => {
    const { run, token } = await claimedRun(store);
    await store.requestCancel((await claimedRun(store)).run.id);
    await admin('CONFIG', 'SET', 'maxmemory', '1');
    const batch = events(token, 3, 5, { transcript: ['{}'] });
    const full = (thrown: unknown) => unavailable(thrown) && /out of memory/.test(String(thrown));
    await assert.rejects(store.append(run.id, batch), full);
    await assert.rejects(store.append(run.id, ending(token, 3, 'completed')), full);
    await assert.rejects(store.create(newRun()), full);
    await assert.rejects(store.requestCancel(run.id), full);
    await assert.rejects(store.claim(run.id, { ...LEASE, force: true }), full);
    const state = await store.check();
    assert.ok(!state.ok && /out of memory/.test(state.reason));
    assert.deepEqual((await readAll(store, run.id)).bytes, frames(1, 2));
    assert.deepEqual(await store.readTranscript(run.id), []);
    assert.equal((await store.get(run.id))?.status, 'in_progress');
    await admin('CONFIG', 'SET', 'maxmemory', '0');
    assert.deepEqual(await store.append(run.id, batch), { result: 'ok', last: 5, cancel: false });
    assert.deepEqual(await store.check(), { ok: true });
  });

  it('a password is suddenly required: every command says so, and all works again without it', async () => {
    const { run, token } = await claimedRun(store);
    await admin('CONFIG', 'SET', 'requirepass', 'new');
    await admin('CLIENT', 'KILL', 'TYPE', 'normal', 'SKIPME', 'yes');
    const asks = (work: () => Promise<unknown>) =>
      eventually('Redis asks for a password', async () => {
        const thrown = await work().then(
          () => undefined,
          (reason: unknown) => reason,
        );
        assert.ok(unavailable(thrown), String(thrown));
        return /asks for a password/.test(String(thrown)) || undefined;
      });
    await asks(() => store.get(run.id));
    // Redis does not even read this many arguments without a password.
    await asks(() => store.append(run.id, events(token, 3, 5, { transcript: ['{}'] })));
    await asks(() => store.create(newRun()));
    await admin('CONFIG', 'SET', 'requirepass', '');
    await recovered(store);
    assert.equal((await store.append(run.id, events(token, 3, 3))).result, 'ok');
  });

  it('its password is changed: the reason says so, not that it cannot be reached', async () => {
    await admin('CONFIG', 'SET', 'requirepass', 'old');
    const url = `redis://:old@127.0.0.1:${server.port}/0`;
    const { runs } = await openRedisStore({ url, log: silentLogger, limitMs: LIMIT_MS });
    await admin('CONFIG', 'SET', 'requirepass', 'new');
    await admin('CLIENT', 'KILL', 'TYPE', 'normal', 'SKIPME', 'yes');
    await eventually('Redis refuses the password', async () => {
      const state = await runs.check();
      return (!state.ok && state.reason === 'Redis refuses the password') || undefined;
    });
    await admin('CONFIG', 'SET', 'requirepass', 'old');
    await recovered(runs);
    await runs.close();
    await admin('CONFIG', 'SET', 'requirepass', '');
    await recovered(store);
  });

  it('demoted to a replica: writes fail as unavailable until it is a master again', async () => {
    const { run, token } = await claimedRun(store);
    await admin('REPLICAOF', '127.0.0.1', '1');
    await unavailableInTime(() => store.append(run.id, events(token, 3, 3)));
    await admin('REPLICAOF', 'NO', 'ONE');
    await recovered(store);
    assert.equal((await store.append(run.id, events(token, 3, 3))).result, 'ok');
  });

  it('another master behind the same address: the connection moves to it', async function () {
    await using successor = await redisOrSkip(this);
    await using address = await movableAddress(server.port);
    const { runs } = await openRedisStore({ url: address.url, log: silentLogger, limitMs: LIMIT_MS });
    await admin('REPLICAOF', '127.0.0.1', `${successor.port}`);
    address.move(successor.port);
    await assert.rejects(runs.create(newRun()), unavailable);
    await recovered(runs);
    assert.equal(await runs.create(newRun()), 'created');
    await runs.close();
    await admin('REPLICAOF', 'NO', 'ONE');
  });

  it('a killed subscription is renewed, and its readers are told to read the store', async () => {
    const { run, token } = await claimedRun(store);
    const reader = new LiveReader(peer, run.id);
    using _ = await peer.subscribe(run.id, reader.handlers);
    await admin('CLIENT', 'KILL', 'TYPE', 'pubsub');
    await store.append(run.id, events(token, 3, 5));
    await eventually('told', () => reader.gaps > 0 || undefined);
    await store.append(run.id, events(token, 6, 6));
    await eventually('all events', () => reader.last === 6 || undefined);
    assert.deepEqual(await reader.bytes(), frames(1, 6));
  });

  it('a failover that lost acknowledged events is reported as a gap, and the owner appends them again', async () => {
    const { run, token } = await claimedRun(store);
    for (let n = 3; n <= 9; n++) await store.append(run.id, events(token, n, n));
    // An asynchronous replica may have only the events up to 6.
    await admin('XTRIM', `${prefix}:{${run.id}}:log`, 'MAXLEN', '0');
    await admin('XADD', `${prefix}:{${run.id}}:log`, '1000-0', 'x', 'x');
    await admin('DEL', `${prefix}:{${run.id}}:log`);
    for (const [first, last] of [
      [1, 2],
      [3, 6],
    ] as const) {
      await admin(
        'XADD',
        `${prefix}:{${run.id}}:log`,
        `${last}-0`,
        'f',
        `${first}`,
        'd',
        frames(first, last).toString(),
      );
    }
    await admin('HSET', `${prefix}:{${run.id}}:run`, 'last', '6');
    assert.deepEqual(await store.append(run.id, events(token, 10, 10)), { result: 'gap', last: 6 });
    assert.equal((await store.append(run.id, events(token, 7, 10))).result, 'ok');
    assert.deepEqual((await readAll(store, run.id)).bytes, frames(1, 10));
  });

  it('a log with missing events fails with internal_error, and others are still compressed', async () => {
    const { run, token } = await claimedRun(store);
    for (const n of [3, 4, 5]) await store.append(run.id, events(token, n, n));
    await admin('XDEL', `${prefix}:{${run.id}}:log`, '4-0');
    const damaged = (thrown: unknown) => thrown instanceof GatewayError && thrown.code === 'internal_error';
    await assert.rejects(store.read(run.id, { after: 0, maxBytes: 1_000_000 }), damaged);
    await assert.rejects(store.read(run.id, { after: 3, maxBytes: 1_000_000 }), damaged);
    await admin('XDEL', `${prefix}:{${run.id}}:log`, '5-0');
    await assert.rejects(store.read(run.id, { after: 3, maxBytes: 1_000_000 }), damaged);
    await admin('DEL', `${prefix}:unsealed`);
    await store.append(run.id, ending(token, 6, 'completed'));
    // It does not stop others from being compressed, and is not retried forever.
    await endedRun(store);
    const turns = [];
    for (let n = 0; n < 3; n++) turns.push(await store.compressEnded({ endedForMs: 0, limit: 1 }));
    assert.deepEqual(turns, [1, 1, 0]);
    await assert.rejects(store.read(run.id, { after: 0, maxBytes: 1_000_000 }), damaged);
  });

  it('an instance whose clock is half a minute off neither steals claims nor removes runs', async () => {
    const options = { url: server.url, log: silentLogger, prefix: randomUUID() };
    const right = (await openRedisStore(options)).runs;
    const wrong = (await openRedisStore(options)).runs;
    const now = Date.now;
    try {
      const { run, token } = await claimedRun(right, { createdAt: now() });
      const { run: ended } = await endedRun(right, { createdAt: now(), retainMs: 20_000 });
      for (const offset of [30_000, -30_000]) {
        Date.now = () => now() + offset;
        assert.equal(await wrong.claimNext(LEASE), undefined, 'the claim holds');
        assert.equal(await wrong.claim(run.id, { ...LEASE, force: false }), undefined);
        assert.deepEqual(await wrong.renew(run.id, { token, leaseMs: 10_000 }), { result: 'ok', cancel: false });
        assert.equal(await wrong.removeExpired({ limit: 10 }), 0);
        assert.equal((await wrong.get(ended.id))?.status, 'completed');
      }
      // Its claim holds for the others exactly as long as it should.
      const own = newRun({ createdAt: now() });
      await wrong.create(own);
      const claim = await wrong.claim(own.id, { leaseMs: patience(0.3), force: false });
      assert.ok(claim);
      Date.now = now;
      assert.equal(await right.claim(own.id, { ...LEASE, force: false }), undefined);
      await eventually('its claim has run out', () => right.claim(own.id, { ...LEASE, force: false }));
    } finally {
      Date.now = now;
      await Promise.all([right.close(), wrong.close()]);
    }
  });

  it('indexes that a crash left behind are repaired by the next claimer', async () => {
    await admin('FLUSHALL');
    const { run: held } = await claimedRun(store);
    const { run: ended } = await endedRun(store);
    // As if their instances had died between the step and its indexes.
    await admin('ZREM', `${prefix}:claimed`, held.id);
    await admin('ZADD', `${prefix}:queued`, `${T0 * 1000}`, held.id);
    await admin('ZADD', `${prefix}:claimed`, `${T0 - 1}`, ended.id);
    await admin('DEL', `${prefix}:expiry`);
    await admin('ZADD', `${prefix}:queued`, `${(T0 - 3_600_000) * 1000}`, randomUUID());
    assert.equal(await peer.claimNext(LEASE), undefined);
    assert.deepEqual(await peer.countOpen(), { queued: 0, inProgress: 1 });
    clock.ms = T0 + 60_000;
    assert.equal(await peer.removeExpired({ limit: 10 }), 1);
    assert.equal((await peer.claimNext(LEASE))?.run.id, held.id);
  });

  it('a queued id without a run is left alone', async () => {
    await admin('FLUSHALL');
    const id = randomUUID();
    await admin('ZADD', `${prefix}:queued`, `${clock.now() * 1000}`, id);
    assert.equal(await store.claimNext(LEASE), undefined);
    assert.deepEqual((await store.findClaimable({ limit: 10 })).includes(id), true);
  });

  it('everything of an ended run expires on its own, and lists drop it', async () => {
    const user = randomUUID();
    const { run, token } = await claimedRun(store, { user });
    await store.append(run.id, events(token, 3, 3, { transcript: ['{}'] }));
    await store.append(run.id, ending(token, 4, 'completed'));
    await store.compressEnded({ endedForMs: 0, limit: 100 });
    for (const part of ['run', 'transcript', 'sealed']) {
      const ttlMs = Number(await admin('PTTL', `${prefix}:{${run.id}}:${part}`));
      assert.ok(ttlMs > 55_000 && ttlMs < 26 * 3_600_000, `${part}: ${ttlMs}`);
      await admin('DEL', `${prefix}:{${run.id}}:${part}`);
    }
    clock.ms += 60_000;
    const list = { user, api: 'responses', limit: 10 } as const;
    assert.deepEqual(await store.list(list), { runs: [], hasMore: false });
    assert.equal(await admin('ZCARD', `${prefix}:list:responses:${user}`), 0);
  });

  it('compression shrinks a log at least tenfold and leaves one copy', async () => {
    const { run, token } = await claimedRun(store);
    const text = 'A sentence that models like to write.';
    for (let n = 3; n < 2003; n += 50)
      await store.append(run.id, events(token, n, n + 49, { frames: frames(n, n + 49, text) }));
    await store.append(run.id, ending(token, 2003, 'completed'));
    const log = `${prefix}:{${run.id}}:log`;
    const before = Number(await admin('MEMORY', 'USAGE', log));
    await store.compressEnded({ endedForMs: 0, limit: 100 });
    const after = Number(await admin('MEMORY', 'USAGE', `${prefix}:{${run.id}}:sealed`));
    assert.ok(after < before / 10, `${before} -> ${after}`);
    assert.equal(await admin('EXISTS', log), 0);
  });

  it('caches are shared by instances, and miss in time while Redis is away', async () => {
    const options = { namespace: 'pages', parse: (value: unknown) => value };
    const cache = caches.open(options);
    const { runs: other, caches: others } = await openRedisStore({ url: server.url, log: silentLogger, prefix });
    await cache.set('key', { text: 'ünï' }, 60_000);
    assert.deepEqual(await others.open(options).get('key'), { text: 'ünï' });
    assert.equal(await others.open({ ...options, namespace: 'other' }).get('key'), undefined);
    await other.close();
    await server.kill();
    await cache.set('key', 'x', 60_000);
    assert.equal(await cache.get('key'), undefined);
    await server.start();
    await eventually('the cache works again', async () => {
      await cache.set('back', 1, 60_000);
      return await cache.get('back');
    });
  });

  it('a closed store fails as unavailable and does not reconnect', async () => {
    const cache = caches.open({ namespace: 'late', parse: (value) => value });
    await Promise.all([store.close(), peer.close()]);
    await eventually('no connection but this', async () => (await connections()) === 1 || undefined);
    await assert.rejects(store.get('x'), unavailable);
    assert.equal(await cache.get('x'), undefined);
    assert.equal(await connections(), 1);
    assert.equal((await store.check()).ok, false);
    await store.close();
  });
});
