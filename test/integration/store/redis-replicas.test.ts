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
import {
  claimed,
  claimedRun,
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

/** How long a store waits for its replicas where they are there, and a busy machine takes its time, in milliseconds. */
const PATIENT_MS = 20_000;
/** And where they are not. */
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

  it('what was used counts once, however often a replica that is away has it given again', async () => {
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

  it('shows the end of a run whose owner died before a replica had it', async () => {
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

  it('waits for the server that has what was written, not for another one', async function () {
    await using former = await redisOrSkip(this);
    const common = { log: silentLogger, limitMs: PATIENT_MS, connectLimitMs: PATIENT_MS };
    const connectTo = async (port: number) => {
      const target = parseTarget(`redis://127.0.0.1:${port}/0`);
      return await Connection.open({ ...common, target, topology: await Topology.open({ ...common, target }) });
    };
    const keys = new RedisKeys(randomUUID());
    // The connection of the waits has followed a failover, that of the commands not yet.
    const [commands, redis] = [await connectTo(former.port), await connectTo(await group.masterPort())];
    const options = { replicas: 1, limitMs: PATIENT_MS };
    await new Replicas({ redis, commands: redis, keys, options }).waitForRun(randomUUID());
    await assert.rejects(new Replicas({ redis, commands, keys, options }).waitForRun(randomUUID()), unavailable);
    await Promise.all([commands.close(), redis.close()]);
  });

  it('tells a repeat of what an earlier attempt stored only once a replica has it', async () => {
    const { hasty, patient } = await openPair();
    const keys = [{ kind: 'idempotency' as const, hash: randomUUID(), fingerprint: 'f', ttlMs: 60_000 }];
    const first = newRun({ keys });
    group.replica.freeze();
    await assert.rejects(hasty.create(first), unavailable);
    await assert.rejects(hasty.create(newRun({ keys })), unavailable, 'the repeat');
    await assert.rejects(hasty.findKey(keys), unavailable, 'a repeat that says that it is one');
    await assert.rejects(
      hasty.read(first.id, { after: 0, maxBytes: 10_000 }),
      unavailable,
      'nor is how it begins shown',
    );
    group.replica.thaw();
    const found = await patient.findKey(keys);
    assert.equal(found?.runId, first.id);
    assert.deepEqual([(await readAll(patient, first.id)).last], [first.frameCount], 'now they are');
    const repeated = await patient.create(newRun({ keys }));
    assert.ok(typeof repeated === 'object' && 'taken' in repeated);
    assert.equal(repeated.taken.runId, first.id);
    await Promise.all([hasty.close(), patient.close()]);
  });

  it('tells a repeat that its run was deleted only once a replica knows', async () => {
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

  it('shows nothing at a server that lacks it', async () => {
    const prefix = randomUUID();
    const options = { url: group.url, log: silentLogger, prefix, limitMs: PATIENT_MS, replicas: 1 };
    const store = (await openRedisStore(options)).runs;
    const { run, token } = await claimedRun(store);
    const master = await group.masterPort();
    const key = new RedisKeys(prefix).run(run.id);
    // As if the append had gone to a master that a failover has replaced by one that lacks the event.
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

  it('shows nobody what no replica has, and after a failover nothing that was shown is gone', async () => {
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
    assert.equal(reader.last, 5, 'neither shown by news');
    assert.equal((await readAll(there, run.id)).last, 5, 'nor by reading');
    assert.equal((await there.readLast(run.id))?.last ?? 5, 5);
    group.replica.thaw();
    assert.equal((await patient.append(run.id, events(token, 6, 8))).result, 'duplicate');
    await patient.close();
    await eventually('a live reader has it', () => reader.last === 8 || undefined);

    // Whoever takes over goes on behind what was written, shown or not.
    const next = await claimed(there, run.id);
    await group.master.kill();
    await eventually(
      'the replica is the master',
      async () => (await group.masterPort()) === group.replica.port || undefined,
    );
    const shown = await eventually('it can be read', () => readAll(there, run.id).catch(() => undefined));
    assert.deepEqual(shown.bytes, frames(1, 8));
    // The only replica is the master now: until there is another, nothing is promised and nothing is shown.
    await assert.rejects(there.append(run.id, ending(next.token, 9, 'completed')), unavailable);
    await group.master.start();
    // The sentinel would tell it so after a while.
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
