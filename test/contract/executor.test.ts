import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { setTimeout as delay } from 'node:timers/promises';
import { Queue } from 'bullmq';
import { newRunId } from '../../src/base/ids.ts';
import { silentLogger } from '../../src/base/logger.ts';
import type { ExecutorOptions } from '../../src/runs/executing/executor-options.ts';
import { QueueExecutor } from '../../src/runs/executing/queue-executor.ts';
import { newRun } from '../../src/runs/submitting/new-run.ts';
import { storeUnavailable } from '../../src/store/failure.ts';
import { openRedisStore } from '../../src/store/redis/open.ts';
import { type RedisServer, redisOrSkip } from '../support/redis.ts';
import { openHarness, question, readAll, testConfig } from '../support/run-harness.ts';
import { ScriptedModel } from '../support/scripted-model.ts';
import { openStore, wrapStore } from '../support/wrapped-store.ts';
import { type ExecutorFixture, executorContract } from './executor.ts';

executorContract('polling, SQLite', async () => {
  const store = await openStore(testConfig().store, { log: silentLogger });
  return {
    open: (options) => openHarness({ ...options, store }),
    [Symbol.asyncDispose]: () => store.close(),
  };
});

describe('a polling executor', () => {
  it('claims queued runs before abandoned ones once the store is back', async () => {
    const store = await openStore(testConfig().store, { log: silentLogger });
    await using _ = { [Symbol.asyncDispose]: () => store.close() };
    const request = JSON.stringify({ input: [], request: question().request });
    const { run } = newRun(newRunId(), question(), { now: Date.now(), retentionMs: 60_000, request });
    // Its lease has expired; its owner may still be alive.
    await store.create({ ...run, claim: { leaseMs: 0 } });
    const looks: (boolean | undefined)[] = [];
    const wrapped = wrapStore(store, {
      claimNext: async (options) => {
        looks.push(options.queued);
        if (looks.length === 1) throw storeUnavailable('no');
        return await store.claimNext(options);
      },
    });
    await using harness = await openHarness({ chat: new ScriptedModel(() => ({ text: ['done'] })), store: wrapped });
    const record = (await store.get(run.id)) ?? assert.fail();
    assert.match((await readAll(harness.runs, record)).toString(), /event: response\.completed/);
    assert.deepEqual([...new Set(looks)], [false, true]);
    assert.deepEqual(looks.slice(0, 2), [false, true]);
  });
});

describe('executors on Redis', () => {
  let server: RedisServer;
  before(async function () {
    server = await redisOrSkip(this);
  });
  after(() => server?.[Symbol.asyncDispose]());

  executorContract('polling, Redis', () => overRedis('polling'));
  executorContract('BullMQ, Redis', () => overRedis('queue', { viaQueue: true }));
  executorContract('BullMQ, Redis, runs that start on the instance they were submitted to', () => overRedis('queue'));

  it('take over an orphaned run that has no job once its lease expires, even when busy', async () => {
    const prefix = randomUUID();
    // The sweep would find the run too, but only later.
    await using fixture = await overRedis('queue', { prefix, sweepMs: 3_600_000 });
    const asked = Promise.withResolvers<void>();
    const chat = new ScriptedModel((_request, n) => {
      asked.resolve();
      return n === 0 ? { gate: new Promise(() => {}) } : { text: ['done'] };
    });
    // An idle process may always start a run; this one has one already, and its event loop lags too much for more.
    await using b = await fixture.open({ chat, load: { utilization: 1, lagMs: 1000 } });
    await b.runs.submit(question());
    await asked.promise;
    const { runs: store } = await openRedisStore({ url: server.url, log: silentLogger, prefix });
    const request = JSON.stringify({ input: [], request: question().request });
    const { run } = newRun(newRunId(), question(), { now: Date.now(), retentionMs: 60_000, request });
    // An instance that dies right after it has created the run.
    const created = await store.create({ ...run, claim: { leaseMs: 300 } });
    assert.ok(typeof created === 'object' && 'token' in created);
    const record = (await store.get(run.id)) ?? assert.fail();
    assert.match((await readAll(b.runs, record)).toString(), /event: response\.completed/);
    await store.close();
  });

  it('drive a run themselves if the queue is paused', async () => {
    const prefix = randomUUID();
    await using fixture = await overRedis('queue', { prefix, viaQueue: true, sweepMs: 100 });
    const { runs: store, openQueue } = await openRedisStore({ url: server.url, log: silentLogger, prefix });
    await using connection = await openQueue();
    const queue = new Queue('runs', { connection: connection.client, prefix: connection.prefix });
    await queue.pause();
    const chat = new ScriptedModel(() => ({ text: ['done'] }));
    await using a = await fixture.open({ chat });
    const { run } = await a.runs.submit(question());
    assert.match((await readAll(a.runs, run)).toString(), /event: response\.completed/);
    assert.equal(await queue.count(), 1);
    await queue.resume();
    while ((await queue.count()) > 0 || (await queue.getActiveCount()) > 0) await delay(10);
    assert.equal(chat.requests.length, 1);
    await queue.close();
    await store.close();
  });

  it('pause between sweeps for abandoned runs', async () => {
    let sweeps = 0;
    await using fixture = await overRedis('queue', { sweepMs: 50, onSweep: () => sweeps++ });
    const began = performance.now();
    await using _ = await fixture.open({ chat: new ScriptedModel(() => ({ text: ['done'] })) });
    while (sweeps < 4) await delay(10);
    const max = 1 + (performance.now() - began) / 250;
    assert.ok(sweeps <= max, `${sweeps} sweeps; there was time for ${max}`);
  });

  /** Instances on one Redis, each with its own connections. `viaQueue`: no run starts where it was submitted. */
  async function overRedis(
    kind: 'polling' | 'queue',
    {
      prefix = randomUUID(),
      viaQueue = false,
      onSweep,
      ...more
    }: { prefix?: string; viaQueue?: boolean; sweepMs?: number; onSweep?: () => void } = {},
  ): Promise<ExecutorFixture> {
    const stack = new AsyncDisposableStack();
    return {
      async open(options) {
        const { runs: store, openQueue } = await openRedisStore({ url: server.url, log: silentLogger, prefix });
        stack.defer(() => store.close());
        const claimable = store.findClaimable.bind(store);
        store.findClaimable = (which) => {
          if (which.abandoned) onSweep?.();
          return claimable(which);
        };
        if (kind === 'polling') return await openHarness({ ...options, store });
        const connection = stack.use(await openQueue());
        const executor = (parts: ExecutorOptions) => {
          const made = new QueueExecutor({ ...parts, ...more, connection });
          // As if there were no room on submission, so that every run goes through the queue; a chat completion waits here.
          const takeRoom = made.takeRoom.bind(made);
          if (viaQueue) made.takeRoom = (how) => (how?.later ? takeRoom(how) : undefined);
          return made;
        };
        return await openHarness({ ...options, store, executor });
      },
      [Symbol.asyncDispose]: () => stack.disposeAsync(),
    };
  }
});
