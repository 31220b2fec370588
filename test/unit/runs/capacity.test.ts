import assert from 'node:assert/strict';
import { setImmediate as turnOfLoop } from 'node:timers/promises';
import { Capacity } from '../../../src/runs/executing/capacity.ts';
import { openHarness, question, readAll, testConfig } from '../../support/run-harness.ts';
import { ScriptedModel } from '../../support/scripted-model.ts';

describe('the capacity of a process', () => {
  function setUp(maxConcurrent = 1000) {
    const load = { utilization: 0, lagMs: 0 };
    const clock = { now: 1000 };
    const capacity = new Capacity({ maxConcurrent, load, now: () => clock.now });
    /** How many of 100 may start now beside those that run. */
    const starts = (active = 1) => {
      let started = 0;
      for (let n = 0; n < 100; n++) if (capacity.start(active + started)) started++;
      return started;
    };
    return { load, clock, capacity, starts };
  }

  it('lets many start while there is room, and looks at what they cost before the next', () => {
    const { clock, starts } = setUp();
    const first = starts();
    assert.ok(first > 10 && first < 100, `${first}`);
    assert.equal(starts(1 + first), 0);
    clock.now += 100;
    assert.equal(starts(1 + first), first);
  });

  it('holds nobody back for runs that end as fast as others start, however busy it is', () => {
    const { load, clock, capacity } = setUp();
    for (let active = 0; active < 4; active++) assert.equal(capacity.start(active), true);
    load.utilization = 1;
    for (let ms = 0; ms < 5000; ms += 5) {
      clock.now += 5;
      // One of the four has ended; two where a window begins.
      assert.equal(capacity.start(ms % 100 === 0 ? 2 : 3), true, `after ${ms} ms`);
    }
    assert.equal(capacity.overloaded, false);
  });

  it('lets few start while it is busy, and none while it does not keep up', () => {
    const { load, clock, starts } = setUp();
    load.utilization = 0.95;
    assert.ok(starts(50) <= 2);
    clock.now += 100;
    load.utilization = 0.5;
    load.lagMs = 60;
    assert.ok(starts(52) <= 2);
    clock.now += 100;
    load.lagMs = 150;
    assert.equal(starts(54), 0);
    assert.ok(starts(10) > 0, 'most of them have ended');
  });

  it('lets a process without runs start one, whatever else it does', () => {
    const { load, capacity } = setUp();
    load.lagMs = 1000;
    assert.equal(capacity.start(1), false);
    assert.equal(capacity.start(0), true);
  });

  it('never lets more run than it may', () => {
    const { clock, capacity } = setUp(3);
    assert.equal(capacity.start(2), true);
    for (let ms = 0; ms < 3000; ms += 50) {
      assert.equal(capacity.start(3), false);
      clock.now += 50;
    }
    assert.equal(capacity.overloaded, false, 'their number is no load');
  });

  it('is overloaded once runs were held back for two seconds, until a window without', () => {
    const { load, clock, capacity } = setUp();
    load.lagMs = 150;
    for (let ms = 0; ms < 2000; ms += 100) {
      assert.equal(capacity.overloaded, false, `after ${ms} ms`);
      capacity.start(1);
      clock.now += 100;
    }
    capacity.start(1);
    clock.now += 100;
    assert.equal(capacity.overloaded, true);
    capacity.served(100);
    assert.equal(capacity.overloaded, false, 'who waits is served soon');
    capacity.served(5000);
    clock.now += 1000;
    capacity.start(1);
    assert.equal(capacity.overloaded, true);
    load.lagMs = 0;
    clock.now += 100;
    assert.equal(capacity.start(1), true);
    clock.now += 100;
    assert.equal(capacity.overloaded, false);
  });

  it('serves those who wait in order, and lets them go after their time', async () => {
    const { load, clock, capacity } = setUp();
    load.lagMs = 150;
    const order: number[] = [];
    const waiting = [1, 2, 3].map(async (n) => {
      const started = await capacity.startWithin(n === 2 ? 100 : 60_000, () => 1);
      if (started) order.push(n);
      return started;
    });
    clock.now += 200;
    assert.equal(await waiting[1], false);
    load.lagMs = 0;
    clock.now += 200;
    assert.deepEqual(await Promise.all(waiting), [true, false, true]);
    assert.deepEqual(order, [1, 3]);
  });
});

describe('a process that carries what it can', () => {
  it('holds queued runs back, refuses more after a while, and serves all that it took', async () => {
    const load = { utilization: 0, lagMs: 0 };
    const gate = Promise.withResolvers<void>();
    const chat = new ScriptedModel((_request, n) => (n === 0 ? { gate: gate.promise } : { text: ['done'] }));
    const config = testConfig({ runs: { max_concurrent: 10, max_queued: 1000 } });
    await using harness = await openHarness({ chat, config, load });
    const { run } = await harness.runs.submit(question());
    while (harness.executor.active === 0) await turnOfLoop();
    load.lagMs = 500;
    const queued = [];
    for (let n = 0; n < 3; n++) queued.push((await harness.runs.submit(question())).run);
    let refused: unknown;
    while (refused === undefined) {
      await harness.runs.submit(question()).then(
        (submitted) => void queued.push(submitted.run),
        (thrown: unknown) => {
          refused = thrown;
        },
      );
      await new Promise((resolve) => setTimeout(resolve, 20));
      assert.ok(queued.length < 400, 'nothing was refused');
    }
    assert.ok(refused instanceof Error && 'code' in refused && 'retryAfterMs' in refused);
    assert.deepEqual([refused.code, typeof refused.retryAfterMs], ['overloaded', 'number']);
    assert.equal(harness.executor.overloaded, true);
    assert.equal(harness.executor.active, 1, 'nothing was started');
    load.lagMs = 0;
    gate.resolve();
    for (const each of [run, ...queued]) {
      assert.match((await readAll(harness.runs, each)).toString(), /event: response\.completed/);
    }
    await harness.runs.submit(question());
  });

  it('serves a few clients that ask again as soon as they have an answer, for as long as they like', async () => {
    const load = { utilization: 1, lagMs: 60 };
    const chat = new ScriptedModel(() => ({ text: ['done'] }));
    const config = testConfig({ runs: { max_concurrent: 100, max_queued: 1000 } });
    await using harness = await openHarness({ chat, config, load });
    const client = async () => {
      for (let n = 0; n < 60; n++) {
        const { run } = await harness.runs.submit(question());
        assert.match((await readAll(harness.runs, run)).toString(), /event: response\.completed/);
      }
    };
    await Promise.all([client(), client(), client(), client()]);
    assert.equal(harness.executor.overloaded, false);
  });
});
