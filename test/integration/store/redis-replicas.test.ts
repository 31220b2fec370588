import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { GatewayError } from '../../../src/base/errors.ts';
import { silentLogger } from '../../../src/base/logger.ts';
import { Connection } from '../../../src/store/redis/connection/connection.ts';
import { parseTarget } from '../../../src/store/redis/connection/target.ts';
import { Topology } from '../../../src/store/redis/connection/topology.ts';
import { RedisKeys } from '../../../src/store/redis/keys.ts';
import { openRedisStore } from '../../../src/store/redis/open.ts';
import { Replicas } from '../../../src/store/redis/runs/replicas.ts';
import { emptyUsage } from '../../../src/store/side-stores/usage-store.ts';
import { claimNumber } from '../../../src/store/token.ts';
import {
  claimed,
  claimedRun,
  endedRun,
  ending,
  events,
  frames,
  LiveReader,
  newRun,
  readAll,
} from '../../contract/run-store-fixture.ts';
import { eventually } from '../../support/eventually.ts';
import { redisOrSkip } from '../../support/redis.ts';
import { ask, type SentinelGroup, startSentinels } from '../../support/redis-groups.ts';
import { patience } from '../../support/time-limit.ts';

const unavailable = (thrown: unknown) => thrown instanceof GatewayError && thrown.code === 'store_unavailable';

/** How long a store waits for replicas that exist, in milliseconds: long enough for a busy machine. */
const PATIENT_MS = 20_000;
/** How long a store waits for frozen replicas, in milliseconds. */
const HASTY_MS = 600;

describe('a Redis store that waits for a replica', function () {
  // Sentinels are started, and fail over.
  this.timeout(patience(60));
  let group: SentinelGroup;
  before(async function () {
    await (await redisOrSkip(this))[Symbol.asyncDispose]();
    group = await startSentinels();
  });
  after(() => group?.[Symbol.asyncDispose]());

  /** Two stores over the same runs: one that soon gives up waiting for its replica, one that does not. */
  async function openPair() {
    const options = { url: group.url, log: silentLogger, prefix: randomUUID(), limitMs: HASTY_MS, replicas: 1 };
    const hasty = (await openRedisStore(options)).runs;
    return { hasty, patient: (await openRedisStore({ ...options, limitMs: PATIENT_MS })).runs };
  }

  it('counts usage once, however often a batch is retried while the replica is away', async () => {
    const options = { url: group.url, log: silentLogger, prefix: randomUUID(), limitMs: HASTY_MS, replicas: 1 };
    const store = await openRedisStore(options);
    const day = '2026-11-26';
    const usage = { day, key: 'k', team: '', model: 'm', tag: '' };
    const rows = Array.from({ length: 300 }, (_, n) => ({ ...emptyUsage({ ...usage, key: `k${n}` }), requests: 1 }));
    const batch = { source: 'one', id: randomUUID() };
    group.replica.freeze();
    for (let n = 0; n < 3; n++) await assert.rejects(store.usage.add(rows, batch), unavailable);
    group.replica.thaw();
    await eventually('it is added', () =>
      store.usage.add(rows, batch).then(
        () => true,
        () => undefined,
      ),
    );
    const read = await store.usage.read({ from: day, to: day });
    assert.deepEqual([read.length, read.reduce((sum, { requests }) => sum + requests, 0)], [300, 300]);
    await store.runs.close();
  });

  it('is not ready while too few replicas answer', async () => {
    const { hasty, patient } = await openPair();
    assert.deepEqual(await patient.check(), { ok: true });
    group.replica.freeze();
    assert.deepEqual(await hasty.check(), { ok: false, reason: 'only 0 of 1 replicas have what was written' });
    group.replica.thaw();
    await Promise.all([hasty.close(), patient.close()]);
  });

  it('shows the end of a run whose owner died once a replica has it, not before', async () => {
    const options = { url: group.url, log: silentLogger, prefix: randomUUID(), limitMs: HASTY_MS, replicas: 1 };
    const patient = (await openRedisStore({ ...options, limitMs: PATIENT_MS })).runs;
    const owner = (await openRedisStore(options)).runs;
    const reader = (await openRedisStore(options)).runs;
    const { run, token } = await claimedRun(patient);
    await patient.close();
    group.replica.freeze();
    await assert.rejects(owner.append(run.id, ending(token, 3, 'completed')), unavailable);
    await owner.close();
    await assert.rejects(readAll(reader, run.id), unavailable, 'not before a replica has it');
    group.replica.thaw();
    const seen = await eventually('the end is shown', () => readAll(reader, run.id).catch(() => undefined));
    assert.deepEqual([seen.last, seen.end], [3, true]);
    await reader.close();
  });

  it('compresses a run whose owner died before its end was shown, and those that ended later', async () => {
    const options = { url: group.url, log: silentLogger, prefix: randomUUID(), limitMs: HASTY_MS, replicas: 1 };
    const patient = (await openRedisStore({ ...options, limitMs: PATIENT_MS })).runs;
    const owner = (await openRedisStore(options)).runs;
    const hidden = await claimedRun(patient);
    group.replica.freeze();
    await assert.rejects(owner.append(hidden.run.id, ending(hidden.token, 3, 'completed')), unavailable);
    await owner.close();
    group.replica.thaw();
    // An executor that looks for abandoned runs enters it as ended.
    assert.equal(await patient.claim(hidden.run.id, { leaseMs: 1000, force: false }), undefined);
    await endedRun(patient);
    assert.equal(await patient.compressEnded({ endedForMs: 0, limit: 10 }), 2);
    assert.equal((await readAll(patient, hidden.run.id)).end, true);
    await patient.close();
  });

  it('counts neither an attempt nor an owner for a claim that no replica has', async () => {
    const { hasty, patient } = await openPair();
    const run = newRun();
    await patient.create(run);
    group.replica.freeze();
    await assert.rejects(hasty.claim(run.id, { leaseMs: 60_000, force: false }), unavailable);
    await assert.rejects(hasty.claimNext({ leaseMs: 60_000 }), unavailable);
    group.replica.thaw();
    const claim = await eventually('it is free at once', () =>
      patient.claim(run.id, { leaseMs: 60_000, force: false }).catch(() => undefined),
    );
    assert.deepEqual([claim.attempts, claimNumber(claim.token)], [1, 1]);
    await Promise.all([hasty.close(), patient.close()]);
  });

  it('rejects a write if another server than the one that has it is waited for', async function () {
    await using former = await redisOrSkip(this);
    const common = { log: silentLogger, limitMs: PATIENT_MS, connectLimitMs: PATIENT_MS };
    const connectTo = async (port: number) => {
      const target = parseTarget(`redis://127.0.0.1:${port}/0`);
      return await Connection.open({ ...common, target, topology: await Topology.open({ ...common, target }) });
    };
    const keys = new RedisKeys(randomUUID());
    // The connection that waits has followed a failover; the one for commands has not.
    const [commands, redis] = [await connectTo(former.port), await connectTo(await group.masterPort())];
    const options = { replicas: 1, limitMs: PATIENT_MS };
    await new Replicas({ redis, commands: redis, keys, options }).waitForRun(randomUUID());
    await assert.rejects(new Replicas({ redis, commands, keys, options }).waitForRun(randomUUID()), unavailable);
    await Promise.all([commands.close(), redis.close()]);
  });

  it('reports an earlier attempt to a repeat only once a replica has it', async () => {
    const { hasty, patient } = await openPair();
    const keys = [{ kind: 'idempotency' as const, hash: randomUUID(), fingerprint: 'f', ttlMs: 60_000 }];
    const first = newRun({ keys });
    group.replica.freeze();
    await assert.rejects(hasty.create(first), unavailable);
    await assert.rejects(hasty.create(newRun({ keys })), unavailable, 'the repeat');
    await assert.rejects(hasty.findKey(keys), unavailable, 'a repeat that looks for its key');
    await assert.rejects(
      hasty.read(first.id, { after: 0, maxBytes: 10_000 }),
      unavailable,
      'its first events are hidden too',
    );
    group.replica.thaw();
    const found = await patient.findKey(keys);
    assert.equal(found?.runId, first.id);
    assert.deepEqual([(await readAll(patient, first.id)).last], [first.frameCount], 'now the events are shown');
    const repeated = await patient.create(newRun({ keys }));
    assert.ok(typeof repeated === 'object' && 'taken' in repeated);
    assert.equal(repeated.taken.runId, first.id);
    await Promise.all([hasty.close(), patient.close()]);
  });

  it('reports a deletion to a repeat only once a replica has it', async () => {
    const { hasty, patient } = await openPair();
    const keys = [{ kind: 'idempotency' as const, hash: randomUUID(), fingerprint: 'f', ttlMs: 60_000 }];
    const first = newRun({ keys });
    await patient.create(first);
    group.replica.freeze();
    await assert.rejects(hasty.delete(first.id), unavailable);
    await assert.rejects(hasty.findKey(keys), unavailable);
    await assert.rejects(hasty.create(newRun({ keys })), unavailable);
    group.replica.thaw();
    assert.deepEqual([(await patient.findKey(keys))?.run], [undefined]);
    await Promise.all([hasty.close(), patient.close()]);
  });

  it('rejects an append that the master lost, even if replicas confirm', async () => {
    const prefix = randomUUID();
    const options = { url: group.url, log: silentLogger, prefix, limitMs: PATIENT_MS, replicas: 1 };
    const store = (await openRedisStore(options)).runs;
    const { run, token } = await claimedRun(store);
    const master = await group.masterPort();
    const key = new RedisKeys(prefix).run(run.id);
    // Simulates a failover to a master that lacks the appended event.
    const lacking = async () => {
      await eventually('it is written', async () =>
        String(await ask(master, 'HGET', key, 'last')) === '3' ? true : undefined,
      );
      await ask(master, 'HSET', key, 'last', '2');
      group.replica.thaw();
    };
    group.replica.freeze();
    const [appended] = await Promise.allSettled([store.append(run.id, events(token, 3, 3)), lacking()]);
    assert.equal(appended.status, 'rejected');
    assert.ok(unavailable(appended.reason), `${appended.reason}`);
    await store.close();
  });

  it('shows nothing that no replica has, and loses nothing shown in a failover', async () => {
    const options = { url: group.url, log: silentLogger, prefix: randomUUID(), limitMs: HASTY_MS, replicas: 1 };
    const patient = (await openRedisStore({ ...options, limitMs: PATIENT_MS })).runs;
    const here = (await openRedisStore(options)).runs;
    const there = (await openRedisStore(options)).runs;
    const { run, token } = await claimedRun(patient);
    const other = await claimedRun(patient);
    const reader = new LiveReader(there, run.id);
    using _ = await there.subscribe(run.id, reader.handlers);
    await reader.catchUp();
    assert.equal((await patient.append(run.id, events(token, 3, 5))).result, 'ok');
    await eventually('a live reader has it', () => reader.last === 5 || undefined);

    group.replica.freeze();
    await assert.rejects(here.append(run.id, events(token, 6, 8)), unavailable);
    await assert.rejects(here.append(run.id, events(token, 6, 8)), unavailable, 'a repeat waits too');
    await assert.rejects(here.create(newRun()), unavailable);
    await assert.rejects(here.requestCancel(other.run.id), unavailable);
    await assert.rejects(here.delete(other.run.id), unavailable);
    await reader.catchUp();
    assert.equal(reader.last, 5, 'not shown live');
    assert.equal((await readAll(there, run.id)).last, 5, 'not shown by reading');
    assert.equal((await there.readLast(run.id))?.last ?? 5, 5);
    group.replica.thaw();
    assert.equal((await patient.append(run.id, events(token, 6, 8))).result, 'duplicate');
    await patient.close();
    await eventually('a live reader has it', () => reader.last === 8 || undefined);

    // The next owner continues after what was written, visible or not.
    const next = await claimed(there, run.id);
    await group.master.kill();
    await eventually(
      'the replica is the master',
      async () => (await group.masterPort()) === group.replica.port || undefined,
    );
    const shown = await eventually('it can be read', () => readAll(there, run.id).catch(() => undefined));
    assert.deepEqual(shown.bytes, frames(1, 8));
    // The only replica is the master now: until there is another, no append succeeds and none is shown.
    await assert.rejects(there.append(run.id, ending(next.token, 9, 'completed')), unavailable);
    await group.master.start();
    // The sentinel would do this after a while.
    await ask(group.master.port, 'REPLICAOF', '127.0.0.1', `${group.replica.port}`);
    const result = await eventually('the former master follows', async () => {
      const end = ending(next.token, 9, 'completed');
      const appended = await there.append(run.id, end).catch(() => undefined);
      return appended?.result;
    });
    assert.ok(result === 'ok' || result === 'duplicate', result);
    await eventually('the reader has the end', () => reader.last === 9 || undefined);
    assert.deepEqual(await reader.bytes(), frames(1, 9));
    await Promise.all([here.close(), there.close()]);
  });
});
