import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { mkdtempSync, readdirSync, rmSync, statSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { GatewayError } from '../../../src/base/errors.ts';
import { silentLogger } from '../../../src/base/logger.ts';
import { Admission } from '../../../src/http/limits/admission.ts';
import type { LimitBudget, LimitRequest, LimitResult, LimitStore } from '../../../src/store/limit-store.ts';
import { memoryLimits } from '../../../src/store/memory-limits.ts';
import { connectStore } from '../../../src/store/shared/store-client.ts';
import { serveStore } from '../../../src/store/shared/store-server.ts';
import type { SharedStorage } from '../../../src/store/side-stores/side-stores.ts';
import { openSqliteStore } from '../../../src/store/sqlite/open.ts';
import { claimedRun, events, newRun } from '../../contract/run-store-fixture.ts';
import { until } from '../../support/http-gateway.ts';
import { storageOf } from '../../support/storage-of.ts';
import { wrapStore } from '../../support/wrapped-store.ts';

/** Whether a worker that hardly waits is answered. */
const answers = (worker: SharedStorage): Promise<true | undefined> =>
  worker.entries.revision('any').then(
    () => true,
    () => undefined,
  );

describe('a store held by another process of the gateway', () => {
  it('says what to do if the folder for temporary files is gone, or too long for a socket', async () => {
    const long = mkdtempSync(join(tmpdir(), `long-${'x'.repeat(100)}-`));
    const { TMPDIR } = process.env;
    const held = openSqliteStore('memory:', { sync: 'normal', log: silentLogger });
    const serve = () => serveStore(storageOf(held, memoryLimits(Date.now)));
    try {
      process.env.TMPDIR = join(long, 'gone');
      await assert.rejects(serve, {
        message: /^cannot make a folder in .*gone: set TMPDIR to a folder that this user/,
      });
      process.env.TMPDIR = long;
      await assert.rejects(serve, {
        message: /is too long for the socket of the workers: set TMPDIR to a folder with a/,
      });
      assert.deepEqual(readdirSync(long), []);
    } finally {
      if (TMPDIR === undefined) delete process.env.TMPDIR;
      else process.env.TMPDIR = TMPDIR;
      rmSync(long, { recursive: true });
      await held.close();
    }
  });

  it('is unavailable to pending and later calls once that process is gone, and readers get a gap', async () => {
    const held = openSqliteStore('memory:', { sync: 'normal', log: silentLogger });
    const server = await serveStore(storageOf(held, memoryLimits(Date.now)));
    const { runs } = await connectStore(server.path);
    const { run } = await claimedRun(runs);
    let gaps = 0;
    using _ = await runs.subscribe(run.id, { onBatch: () => {}, onGap: () => void gaps++ });
    const underWay = assert.rejects(runs.create(newRun()), { code: 'store_unavailable' });
    await server[Symbol.asyncDispose]();
    await underWay;
    await assert.rejects(runs.get(run.id), { code: 'store_unavailable' });
    assert.deepEqual(await runs.check(), { ok: false, reason: 'the process that holds the store cannot be reached' });
    assert.equal(gaps, 1);
    await held.close();
  });

  it("delivers each append once, to the worker's own readers and to those of others", async () => {
    const held = openSqliteStore('memory:', { sync: 'normal', log: silentLogger });
    const server = await serveStore(storageOf(held, memoryLimits(Date.now)));
    const [here, there] = await Promise.all([connectStore(server.path), connectStore(server.path)]);
    const { run, token } = await claimedRun(here.runs);
    const seen: Record<'here' | 'there', number[]> = { here: [], there: [] };
    const whole = Promise.withResolvers<void>();
    const reader = (side: 'here' | 'there') => ({
      onBatch: ({ first, last }: { first: number; last: number }) => {
        seen[side].push(first, last);
        if (seen.here.length === 4 && seen.there.length === 4) whole.resolve();
      },
      onGap: () => assert.fail('no gap'),
    });
    using _here = await here.runs.subscribe(run.id, reader('here'));
    using _there = await there.runs.subscribe(run.id, reader('there'));
    await here.runs.append(run.id, events(token, 3, 4));
    await here.runs.append(run.id, events(token, 5, 9));
    await whole.promise;
    assert.deepEqual(seen, { here: [3, 4, 5, 9], there: [3, 4, 5, 9] });
    await Promise.all([here.runs.close(), there.runs.close()]);
    await server[Symbol.asyncDispose]();
    await held.close();
  });

  it('answers with the errors of the store', async () => {
    const held = openSqliteStore('memory:', { sync: 'normal', log: silentLogger });
    const storage = storageOf(held, memoryLimits(Date.now));
    const refusal = new GatewayError('invalid_parameter', 'no', { param: 'id', retryAfterMs: 7 });
    const runs = wrapStore(storage.runs, { get: () => Promise.reject(refusal) });
    await using server = await serveStore({ ...storage, runs });
    const worker = await connectStore(server.path);
    const { code, message, param, retryAfterMs } = refusal;
    await assert.rejects(worker.runs.get(newRun().id), { code, message, param, retryAfterMs });
    await worker.runs.close();
    await held.close();
  });

  it('cannot be connected to if nobody holds it', async () => {
    await assert.rejects(connectStore(join(tmpdir(), randomUUID())), { code: 'ENOENT' });
  });

  it('releases limits that were taken only after the worker had given up waiting', async () => {
    const held = openSqliteStore('memory:', { sync: 'normal', log: silentLogger });
    const counted = memoryLimits(Date.now);
    const frozen = Promise.withResolvers<void>();
    const taken = Promise.withResolvers<LimitResult[]>();
    const givenBack = Promise.withResolvers<void>();
    const limits: LimitStore = {
      ...counted,
      async take(...args) {
        await frozen.promise;
        const results = await counted.take(...args);
        taken.resolve(results);
        return results;
      },
      async release(...args) {
        const done = await counted.release(...args);
        givenBack.resolve();
        return done;
      },
    };
    await using server = await serveStore(storageOf(held, limits));
    const worker = await connectStore(server.path, { answerMs: 1 });
    const window = { name: 'd', windowSeconds: 600 };
    const taking = worker.limits.take({ key: 'ann', id: 'a' }, [
      { kind: 'place', name: 'p', limit: 1, ttlMs: 60_000 },
      { kind: 'budget', ...window, points: 60, limit: 100, ttlMs: 60_000 },
    ]);
    await assert.rejects(Promise.resolve(taking), { code: 'store_unavailable' });
    frozen.resolve();
    assert.ok((await taken.promise).every(({ granted }) => granted));
    await givenBack.promise;
    assert.deepEqual(await counted.slots({ name: 'p' }).holders('ann'), []);
    assert.equal((await counted.budget(window).used('ann')).used, 0);
    await worker.runs.close();
    await held.close();
  });

  it('keeps what a run has reserved and used if its renewal is carried out late', async () => {
    const held = openSqliteStore('memory:', { sync: 'normal', log: silentLogger });
    const counted = memoryLimits(Date.now);
    const budget = counted.budget({ name: 'tokens', windowSeconds: 86_400 });
    void budget.reserve('ann', 'run', { points: 60, limit: 100, ttlMs: 60_000, lasting: true });
    void budget.note('ann', 'run', { spent: 40, ttlMs: 60_000 });
    const frozen = Promise.withResolvers<void>();
    const late: LimitBudget['reserve'] = async (...args) => {
      await frozen.promise;
      return budget.reserve(...args);
    };
    const limits: LimitStore = {
      ...counted,
      async take(...args) {
        await frozen.promise;
        return await counted.take(...args);
      },
      budget: () => Object.assign(Object.create(budget), { reserve: late }),
    };
    await using server = await serveStore(storageOf(held, limits));
    const worker = await connectStore(server.path, { answerMs: 1 });
    const renewed = new Admission(worker.limits).renewRun({ id: 'run', keyId: 'ann', held: { tokens: 60 }, runMs: 1 });
    await assert.rejects(renewed, { code: 'store_unavailable' });
    frozen.resolve();
    // The first answer follows the late one, the second whatever the worker did because of it.
    for (const _ of [1, 2]) await until(() => answers(worker));
    void budget.settle('ann', 'run', {});
    assert.equal(budget.used('ann').used, 40);
    await worker.runs.close();
    await held.close();
  });

  it('settles calls of a worker that is gone at their noted usage, and keeps the limits of its runs', async () => {
    const held = openSqliteStore('memory:', { sync: 'normal', log: silentLogger });
    const counted = memoryLimits(Date.now);
    await using server = await serveStore(storageOf(held, counted));
    const worker = await connectStore(server.path);
    const window = { name: 'd', windowSeconds: 600 };
    const requests: LimitRequest[] = [
      { kind: 'place', name: 'p', limit: 9, ttlMs: 60_000 },
      { kind: 'budget', ...window, points: 60, limit: 1000, ttlMs: 60_000 },
      { kind: 'budget', ...window, points: 60, limit: 1000, ttlMs: 60_000, owner: 'team red' },
    ];
    const call = { key: 'ann', id: 'call' };
    await worker.limits.take(call, requests);
    await worker.limits.take({ key: 'ann', id: 'run', lasting: true }, requests);
    const noted = [call, { ...call, key: 'team red' }];
    await worker.limits.note(noted.map((holder) => ({ ...window, holder, spent: 7, ttlMs: 60_000 })));
    assert.equal((await counted.budget(window).used('ann')).used, 120);
    await worker.runs.close();
    await until(async () => ((await counted.slots({ name: 'p' }).count('ann')) === 1 ? true : undefined));
    for (const owner of ['ann', 'team red'])
      await until(async () => ((await counted.budget(window).used(owner)).used === 67 ? true : undefined));
    await held.close();
  });

  it('ends a subscription that is made only after the worker had given up waiting', async () => {
    const held = openSqliteStore('memory:', { sync: 'normal', log: silentLogger });
    const frozen = Promise.withResolvers<void>();
    const ended = Promise.withResolvers<void>();
    const storage = storageOf(held, memoryLimits(Date.now));
    const slow: SharedStorage = {
      ...storage,
      runs: wrapStore(storage.runs, {
        async subscribe() {
          await frozen.promise;
          return { [Symbol.dispose]: () => ended.resolve() };
        },
      }),
    };
    await using server = await serveStore(slow);
    const worker = await connectStore(server.path, { answerMs: 1 });
    const subscribing = worker.runs.subscribe(newRun().id, { onBatch: () => {}, onGap: () => {} });
    await assert.rejects(Promise.resolve(subscribing), { code: 'store_unavailable' });
    // An answer to this call shows that the process has read that the subscription is over.
    await until(() => answers(worker));
    frozen.resolve();
    await ended.promise;
    await worker.runs.close();
    await held.close();
  });

  it('has a socket in a folder that only its user may enter', async () => {
    if (process.platform === 'win32') return;
    const held = openSqliteStore('memory:', { sync: 'normal', log: silentLogger });
    await using server = await serveStore(storageOf(held, memoryLimits(Date.now)));
    assert.equal(statSync(dirname(server.path)).mode & 0o077, 0);
    await held.close();
  });
});
