import assert from 'node:assert/strict';
import { setImmediate as turnOfLoop } from 'node:timers/promises';
import { GatewayError } from '../../../src/base/errors.ts';
import { publicId } from '../../../src/base/ids.ts';
import { followLog } from '../../../src/runs/reading/follow.ts';
import { offsetAfter } from '../../../src/store/frames.ts';
import type { LogBatch, RunStore } from '../../../src/store/run-store.ts';
import { claimedRun, endedRun, ending, events, frames, newRun } from '../../contract/run-store-fixture.ts';
import { logReader } from '../../support/log-reader.ts';
import { CALLER, openHarness, question, readAll } from '../../support/run-harness.ts';
import { ScriptedModel } from '../../support/scripted-model.ts';
import { memoryStore, wrapStore } from '../../support/wrapped-store.ts';

const LIMIT = () => AbortSignal.timeout(60_000);

describe('followLog', () => {
  let store: RunStore;
  beforeEach(async () => {
    store = await memoryStore();
  });
  afterEach(() => store.close());

  it('yields what is stored, then what is appended, until the end', async () => {
    const { run, token } = await claimedRun(store);
    const reading = logReader(store, run.id);
    assert.deepEqual((await reading.next())?.last, 2);
    const rest = reading.rest();
    for (let n = 3; n < 50; n++) {
      await store.append(run.id, events(token, n, n));
      if (n % 7 === 0) await turnOfLoop();
    }
    await store.append(run.id, ending(token, 50, 'completed'));
    assert.deepEqual(await rest, frames(3, 50));
  });

  it('yields exactly the bytes after any event, even in the middle of a batch', async () => {
    const { run, token } = await claimedRun(store);
    await store.append(run.id, events(token, 3, 9));
    await store.append(run.id, events(token, 10, 11));
    await store.append(run.id, ending(token, 12, 'completed'));
    for (let after = 0; after < 12; after++)
      assert.deepEqual(await logReader(store, run.id, after).rest(), frames(after + 1, 12), `after ${after}`);
  });

  it('waits for the next event if it starts at the last one of an open run', async () => {
    const { run, token } = await claimedRun(store);
    const rest = logReader(store, run.id, 2).rest();
    await turnOfLoop();
    await store.append(run.id, ending(token, 3, 'completed'));
    assert.deepEqual(await rest, frames(3, 3));
  });

  it('yields nothing from the end of an ended run or beyond', async () => {
    const { run } = await endedRun(store);
    assert.equal((await logReader(store, run.id, 3).rest()).length, 0);
    assert.equal((await logReader(store, run.id, 1000).rest()).length, 0);
  });

  it('that was just created reads the store once, and does not look the run up', async () => {
    const { run, token } = await claimedRun(store);
    let reads = 0;
    const counting = wrapStore(store, {
      read: (...args) => {
        reads++;
        return store.read(...args);
      },
      get: () => assert.fail('looked up'),
    });
    const next = followLog(counting, run.id, { after: 2, isNew: true, signal: LIMIT() }).next();
    for (let turns = 0; turns < 3; turns++) await turnOfLoop();
    assert.equal(reads, 1);
    await store.append(run.id, ending(token, 3, 'completed'));
    assert.equal((await next).value?.last, 3);
    assert.equal(reads, 1);
  });

  it('trims a live batch that the reader already has in part', async () => {
    const { run, token } = await claimedRun(store);
    const subscribed = Promise.withResolvers<void>();
    const watched = wrapStore(store, {
      subscribe: async (id, handlers) => {
        const subscription = await store.subscribe(id, handlers);
        subscribed.resolve();
        return subscription;
      },
    });
    const rest = logReader(watched, run.id, 4).rest();
    await subscribed.promise;
    await store.append(run.id, events(token, 3, 8));
    await store.append(run.id, ending(token, 9, 'completed'));
    assert.deepEqual(await rest, frames(5, 9));
  });

  it('misses nothing if notifications are lost, repeated or out of order', async () => {
    const { run, token } = await claimedRun(store);
    const lossy = wrapStore(store, {
      subscribe: (id, handlers) => {
        let n = 0;
        let kept: LogBatch | undefined;
        return store.subscribe(id, {
          onGap: () => handlers.onGap(),
          onBatch: (batch) => {
            n++;
            if (n % 5 === 1) return;
            if (n % 5 === 2) kept = batch;
            handlers.onBatch(batch);
            if (n % 5 === 4 && kept) handlers.onBatch(kept);
          },
        });
      },
    });
    const rest = logReader(lossy, run.id).rest();
    for (let n = 3; n < 60; n++) {
      await store.append(run.id, events(token, n, n));
      await turnOfLoop();
    }
    await store.append(run.id, ending(token, 60, 'completed'));
    assert.deepEqual(await rest, frames(1, 60));
  });

  it('delivers live batches directly while the reader waits, in order with those it iterates', async () => {
    const { run, token } = await claimedRun(store);
    for (const seed of [1, 2, 3, 5]) {
      const got: Uint8Array[] = [];
      let passed = 0;
      let busy = 0;
      const pass = (batch: LogBatch) => {
        if (busy++ % seed !== 0) return false;
        passed++;
        got.push(batch.frames);
        return true;
      };
      const { last } = (await store.get(run.id)) ?? assert.fail();
      const left = new AbortController();
      const reading = (async () => {
        for await (const { frames } of followLog(store, run.id, { after: last, signal: left.signal, deliver: pass })) {
          got.push(frames);
          await turnOfLoop();
        }
      })();
      for (let n = last + 1; n <= last + 40; n++) {
        await store.append(run.id, events(token, n, n));
        if (n % 3 === 0) await turnOfLoop();
      }
      while (Buffer.concat(got).length < frames(last + 1, last + 40).length) await turnOfLoop();
      assert.deepEqual(Buffer.concat(got), frames(last + 1, last + 40));
      assert.ok(passed > 0);
      left.abort(new Error('enough'));
      await assert.rejects(reading, /enough/);
    }
  });

  it('ends with a terminal event that was delivered directly', async () => {
    const { run, token } = await claimedRun(store);
    const got: Uint8Array[] = [];
    const subscribed = Promise.withResolvers<void>();
    const watched = wrapStore(store, {
      subscribe: async (id, handlers) => {
        const subscription = await store.subscribe(id, handlers);
        setImmediate(subscribed.resolve);
        return subscription;
      },
    });
    const pass = (batch: LogBatch) => got.push(batch.frames) > 0;
    const iterated: LogBatch[] = [];
    const reading = (async () => {
      for await (const batch of followLog(watched, run.id, { after: 2, signal: LIMIT(), deliver: pass }))
        iterated.push(batch);
    })();
    await subscribed.promise;
    await store.append(run.id, events(token, 3, 5));
    await store.append(run.id, ending(token, 6, 'completed'));
    await reading;
    assert.deepEqual(Buffer.concat(got), frames(3, 6));
    assert.deepEqual(iterated, []);
  });

  it('ends if the run is deleted or unknown', async () => {
    const { run } = await claimedRun(store);
    const rest = logReader(store, run.id).rest();
    await turnOfLoop();
    await store.delete(run.id);
    assert.deepEqual(await rest, frames(1, 2));
    assert.equal((await logReader(store, newRun().id).rest()).length, 0);
  });

  it('ends with its signal, and releases its subscription', async () => {
    const { run } = await claimedRun(store);
    let open = 0;
    const counting = wrapStore(store, {
      subscribe: async (id, handlers) => {
        const subscription = await store.subscribe(id, handlers);
        open++;
        return {
          [Symbol.dispose]() {
            open--;
            subscription[Symbol.dispose]();
          },
        };
      },
    });
    const controller = new AbortController();
    const rest = logReader(counting, run.id, 0, controller.signal).rest();
    while (open === 0) await turnOfLoop();
    controller.abort(new Error('the client left'));
    await assert.rejects(rest, /the client left/);
    assert.equal(open, 0);
  });
});

describe('Runs.follow', () => {
  it('refuses to start after the last event of an open run, and is empty for an ended one', async () => {
    const gate = Promise.withResolvers<void>();
    await using harness = await openHarness({ chat: new ScriptedModel([{ gate: gate.promise, text: ['ready'] }]) });
    const { run } = await harness.runs.submit(question());
    assert.equal(run.last, 2);
    const past = () => harness.runs.follow(run, { after: 3, signal: LIMIT() });
    assert.throws(past, { code: 'invalid_parameter', param: 'after', message: /last event of this run so far is 2/ });
    gate.resolve();
    const bytes = await readAll(harness.runs, run);
    const ended = await harness.runs.find(CALLER, 'responses', publicId('responses', run.id));
    assert.deepEqual(await readAll(harness.runs, ended), bytes);
    for (const after of [ended.last, ended.last + 1, 1e9])
      assert.equal((await readAll(harness.runs, ended, after)).length, 0, `after ${after}`);
  });

  it('waits if the store goes away between look-up and replay of an ended run', async () => {
    const inner = await memoryStore();
    let away = 0;
    const store = wrapStore(inner, {
      read: async (id, options) => {
        if (away-- > 0) throw new GatewayError('store_unavailable', 'The store is away.', { retryAfterMs: 1000 });
        return await inner.read(id, options);
      },
    });
    await using harness = await openHarness({ chat: new ScriptedModel([]), store });
    const { run } = await harness.runs.submit(question());
    const live = await readAll(harness.runs, run);
    const ended = await harness.runs.find(CALLER, 'responses', publicId('responses', run.id));
    away = 2;
    assert.deepEqual(await readAll(harness.runs, ended), live);
    assert.ok(away < 0, 'it was away');
  });

  it('yields all of a run that has ended since its look-up', async () => {
    await using harness = await openHarness({ chat: new ScriptedModel([]) });
    const { run } = await harness.runs.submit(question());
    const bytes = await readAll(harness.runs, run);
    assert.deepEqual(await readAll(harness.runs, run), bytes);
    assert.deepEqual(await readAll(harness.runs, run, 1), Buffer.from(bytes.subarray(offsetAfter(bytes, 1))));
  });
});
