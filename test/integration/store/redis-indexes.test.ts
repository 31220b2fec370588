import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { silentLogger } from '../../../src/base/logger.ts';
import { RedisKeys } from '../../../src/store/redis/keys.ts';
import { openRedisStore } from '../../../src/store/redis/open.ts';
import type { ListedStatus, RunStore } from '../../../src/store/run-store.ts';
import { claimedRun, endedRun, LEASE, testClock } from '../../contract/run-store-fixture.ts';
import { type RedisServer, redisOrSkip } from '../../support/redis.ts';
import { ask } from '../../support/redis-groups.ts';
import { patience } from '../../support/time-limit.ts';

describe('the sets of open runs in Redis', function () {
  // Servers are started as processes.
  this.timeout(patience(30));
  let server: RedisServer;
  let store: RunStore;
  before(async function () {
    server = await redisOrSkip(this);
  });
  after(() => server?.[Symbol.asyncDispose]());
  const prefix = randomUUID();
  const keys = new RedisKeys(prefix);
  beforeEach(async () => {
    store = (await openRedisStore({ url: server.url, log: silentLogger, prefix })).runs;
  });
  afterEach(() => store.close());

  it('lose an ended run once an executor tries to claim it', async () => {
    const { run } = await endedRun(store);
    await ask(server.port, 'ZADD', keys.claimed.of(run.id), '0', run.id);
    await ask(server.port, 'ZADD', keys.queued.of(run.id), '0', run.id);
    assert.deepEqual(await store.findClaimable({ limit: 10 }), [run.id]);
    assert.equal(await store.claim(run.id, { ...LEASE, force: false }), undefined);
    assert.deepEqual(await store.findClaimable({ limit: 10 }), []);
    assert.deepEqual(await store.countOpen(), { queued: 0, inProgress: 0 });
  });

  it('hold a claim no longer than a lease when the clock goes back', async () => {
    const clock = testClock();
    const { runs: ours } = await openRedisStore({ url: server.url, log: silentLogger, prefix: randomUUID(), clock });
    try {
      const { run } = await claimedRun(ours);
      const alive = await claimedRun(ours);
      const abandoned = () => ours.findClaimable({ limit: 10, abandoned: true });
      clock.ms -= 3_600_000;
      assert.deepEqual(new Set(await abandoned()), new Set([run.id, alive.run.id]));
      for (const { id } of [run, alive.run]) assert.equal(await ours.claim(id, { ...LEASE, force: false }), undefined);
      assert.deepEqual(await abandoned(), [], 'living owners get time to renew their claims');
      clock.ms += LEASE.leaseMs / 2;
      assert.equal((await ours.renew(alive.run.id, { ...LEASE, token: alive.token })).result, 'ok');
      clock.ms += LEASE.leaseMs / 2;
      assert.deepEqual(await abandoned(), [run.id]);
      assert.equal((await ours.claimNext(LEASE))?.run.id, run.id);
      assert.equal(await ours.claimNext(LEASE), undefined);
    } finally {
      await ours.close();
    }
  });

  it('get back a lost run when its claim is renewed', async () => {
    const { run, token } = await claimedRun(store);
    await ask(server.port, 'ZREM', keys.claimed.of(run.id), run.id);
    assert.deepEqual(await store.countOpen(), { queued: 0, inProgress: 0 });
    assert.equal((await store.renew(run.id, { token, leaseMs: 1 })).result, 'ok');
    assert.deepEqual(await store.countOpen(), { queued: 0, inProgress: 1 });
  });

  it('show a run once in a list while two parts of the list have it', async () => {
    const user = randomUUID();
    const { run } = await endedRun(store, { user });
    const list = { user, api: 'responses', limit: 10, model: run.model } as const;
    // The first read of a list repairs it.
    assert.equal((await store.list(list)).runs.length, 1);
    const position = String(await ask(server.port, 'ZSCORE', keys.list(user, 'responses'), run.id));
    await ask(server.port, 'ZADD', keys.listPart(run, { model: run.model, bucket: 'open' }), position, run.id);
    assert.deepEqual(
      (await store.list(list)).runs.map(({ id }) => id),
      [run.id],
    );
  });

  it('list an incomplete run once, also if an earlier version has listed it as completed meanwhile', async () => {
    const user = randomUUID();
    const { run } = await endedRun(store, { user, listed: '{"status":"incomplete"}' });
    const position = String(await ask(server.port, 'ZSCORE', keys.list(user, 'responses'), run.id));
    const completed = keys.listPart(run, { model: run.model, bucket: 'completed' });
    await ask(server.port, 'ZADD', completed, position, run.id);
    const ids = async (status: ListedStatus) =>
      (await store.list({ user, api: 'responses', limit: 10, status: [status] })).runs.map(({ id }) => id);
    assert.deepEqual([await ids('incomplete'), await ids('completed')], [[run.id], []]);
    assert.equal(await ask(server.port, 'ZCARD', completed), 0, 'the first read of a list repairs it');
  });

  it('are repaired before any reader of a list gets an answer, and again if that failed', async () => {
    const user = randomUUID();
    const { run } = await endedRun(store, { user });
    await ask(server.port, 'DEL', keys.listPart(run, { model: run.model, bucket: 'completed' }));
    // Not a set: the models cannot be read.
    const models = keys.models(run);
    await ask(server.port, 'RENAME', models, `${models}:aside`);
    await ask(server.port, 'SET', models, '');
    const list = async () =>
      (await store.list({ user, api: 'responses', limit: 10, status: ['completed'] })).runs.length;
    await assert.rejects(list());
    await ask(server.port, 'RENAME', `${models}:aside`, models);
    assert.deepEqual(await Promise.all([list(), list()]), [1, 1]);
  });
});
