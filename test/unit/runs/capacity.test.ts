import assert from 'node:assert/strict';
import { mock } from 'node:test';
import { setImmediate as turnOfLoop } from 'node:timers/promises';
import { Capacity } from '../../../src/runs/executing/capacity.ts';
import { openHarness, question, readAll, testConfig } from '../../support/run-harness.ts';
import { ScriptedModel } from '../../support/scripted-model.ts';

describe('Capacity', () => {
  function setUp(maxConcurrent = 1000) {
    const load = { utilization: 0, lagMs: 0 };
    const clock = { now: 1000 };
    const capacity = new Capacity({ maxConcurrent, load, now: () => clock.now });
    /** How many of 100 runs may start now beside `active` ones. */
    const starts = (active = 1) => {
      let started = 0;
      for (let n = 0; n < 100; n++) if (capacity.tryStart(active + started)) started++;
      return started;
    };
    return { load, clock, capacity, starts };
  }

  it('starts a limited number of runs at once, and as many again in the next window', () => {
    const { clock, starts } = setUp();
    const first = starts();
    assert.ok(first > 10 && first < 100, `${first}`);
    assert.equal(starts(1 + first), 0);
    clock.now += 100;
    assert.equal(starts(1 + first), first);
  });

  it('never holds back runs that start as fast as others end, however busy it is', () => {
    const { load, clock, capacity } = setUp();
    for (let active = 0; active < 4; active++) assert.equal(capacity.tryStart(active), true);
    load.utilization = 1;
    for (let ms = 0; ms < 5000; ms += 5) {
      clock.now += 5;
      // One of the four has ended; two where a window begins.
      assert.equal(capacity.tryStart(ms % 100 === 0 ? 2 : 3), true, `after ${ms} ms`);
    }
    assert.equal(capacity.overloaded, false);
  });

  it('starts few runs while it is busy, and none while it falls behind', () => {
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

  it('always lets an idle process start one run', () => {
    const { load, capacity } = setUp();
    load.lagMs = 1000;
    assert.equal(capacity.tryStart(1), false);
    assert.equal(capacity.tryStart(0), true);
  });

  it('never exceeds its maximum, which alone is no overload', () => {
    const { clock, capacity } = setUp(3);
    assert.equal(capacity.tryStart(2), true);
    for (let ms = 0; ms < 3000; ms += 50) {
      assert.equal(capacity.tryStart(3), false);
      clock.now += 50;
    }
    assert.equal(capacity.overloaded, false, 'their number is no load');
  });

  it('is overloaded after holding runs back for two seconds, until a window holds none back', () => {
    const { load, clock, capacity } = setUp();
    load.lagMs = 150;
    for (let ms = 0; ms < 2000; ms += 100) {
      assert.equal(capacity.overloaded, false, `after ${ms} ms`);
      capacity.tryStart(1);
      clock.now += 100;
    }
    capacity.tryStart(1);
    clock.now += 100;
    assert.equal(capacity.overloaded, true);
    capacity.noteWait(100);
    assert.equal(capacity.overloaded, false, 'who waits is served soon');
    capacity.noteWait(5000);
    clock.now += 1000;
    capacity.tryStart(1);
    assert.equal(capacity.overloaded, true);
    load.lagMs = 0;
    clock.now += 100;
    assert.equal(capacity.tryStart(1), true);
    clock.now += 100;
    assert.equal(capacity.overloaded, false);
  });

  describe('limits', () => {
    /** How many of 100 start beside `active` ones in the window after one with that many. */
    function startsAt(load: { utilization: number; lagMs: number }, active: number): number {
      const setting = setUp();
      Object.assign(setting.load, load);
      setting.capacity.tryStart(active - 1);
      setting.clock.now += 100;
      return setting.starts(active);
    }

    it('allow 32 more per window, two when busy, and half as many when late', () => {
      assert.equal(startsAt({ utilization: 0, lagMs: 0 }, 20), 32);
      assert.equal(startsAt({ utilization: 0.89, lagMs: 49 }, 20), 32);
      assert.equal(startsAt({ utilization: 0.9, lagMs: 0 }, 20), 2);
      assert.equal(startsAt({ utilization: 0, lagMs: 50 }, 20), 2);
      assert.equal(startsAt({ utilization: 1, lagMs: 99 }, 20), 2);
      assert.equal(startsAt({ utilization: 0, lagMs: 100 }, 20), 0);
      const late = setUp();
      late.capacity.tryStart(19);
      late.load.lagMs = 100;
      late.clock.now += 100;
      assert.equal(late.starts(9), 1, 'half of 20');
    });

    it('apply to a window of 100 ms', () => {
      const { clock, capacity, starts } = setUp();
      assert.equal(starts(1), 32);
      clock.now += 99;
      assert.equal(capacity.tryStart(33), false);
      clock.now += 1;
      assert.equal(capacity.tryStart(33), true);
    });

    it('build on the previous window, but not on an older one', () => {
      const { clock, capacity, starts } = setUp();
      starts(1);
      clock.now += 199;
      assert.equal(starts(1), 64, 'as many as there were, and 32');
      clock.now += 200;
      assert.equal(starts(1), 32);
      assert.equal(capacity.tryStart(0), true);
    });

    it('report overload after two seconds, unless a run has waited for less than one', () => {
      const { load, clock, capacity } = setUp();
      load.lagMs = 100;
      capacity.tryStart(1);
      const began = clock.now;
      while (clock.now < began + 2000) {
        assert.equal(capacity.overloaded, false, `after ${clock.now - began} ms`);
        clock.now += 50;
        capacity.tryStart(1);
      }
      assert.equal(capacity.overloaded, true);
      capacity.noteWait(1000);
      assert.equal(capacity.overloaded, true, 'a second is not soon');
      capacity.noteWait(999);
      assert.equal(capacity.overloaded, false);
      for (let ms = 0; ms < 1000; ms += 50) {
        assert.equal(capacity.overloaded, false);
        clock.now += 50;
        capacity.tryStart(1);
      }
      assert.equal(capacity.overloaded, true);
    });
  });

  it('resumes runs from elsewhere under any load, up to its maximum', () => {
    const { load, capacity } = setUp(3);
    load.lagMs = 1000;
    assert.equal(capacity.canResume(2), true);
    assert.equal(capacity.canResume(3), false);
  });

  it('starts no more waiting runs than there are free places', async () => {
    const { capacity } = setUp(3);
    const active = 3;
    let room = 0;
    let started = 0;
    const leaving = new AbortController();
    const waiting = Array.from({ length: 4 }, async () => {
      if (await capacity.waitToStart(60_000, () => active - room + started, { signal: leaving.signal })) started++;
    });
    room = 2;
    capacity.placeFreed();
    await Promise.race(waiting);
    await turnOfLoop();
    assert.equal(started, 2);
    leaving.abort();
    await Promise.all(waiting);
  });

  it('is no longer overloaded once a run starts at once or after less than a second', async () => {
    const { load, clock, capacity } = setUp();
    const holdBack = () => {
      load.lagMs = 100;
      for (let ms = 0; ms < 2100; ms += 50) {
        capacity.tryStart(1);
        clock.now += 50;
      }
      assert.equal(capacity.overloaded, true);
    };
    holdBack();
    assert.equal(capacity.tryStartNow(1), false);
    assert.equal(capacity.overloaded, true, 'nobody was served');
    const left = new AbortController();
    const leaving = capacity.waitForRoom('a', () => 1, left.signal);
    left.abort();
    await leaving;
    assert.equal(capacity.overloaded, true, 'nobody was served');
    let active = 1;
    const served = capacity.waitForRoom('a', () => active, new AbortController().signal);
    active = 0;
    capacity.placeFreed();
    await served;
    assert.equal(capacity.overloaded, false);
    clock.now += 1000;
    holdBack();
    assert.equal(capacity.tryStartNow(0), true);
    assert.equal(capacity.overloaded, false);
  });

  it('gives a freed place to the next in line at once, ahead of newcomers', async () => {
    // The periodic check would give it too, but later.
    mock.timers.enable({ apis: ['setInterval'] });
    const { capacity } = setUp(1);
    let active = 1;
    const waiting = capacity.waitToStart(60_000, () => active);
    assert.equal(capacity.tryStartInTurn(0), false, 'somebody waits');
    assert.equal(capacity.tryStartNow(0), false);
    active = 0;
    capacity.placeFreed();
    assert.equal(await waiting, true);
    mock.timers.reset();
    assert.equal(capacity.tryStartNow(0), true, 'nobody waits any more');
  });

  it('removes an aborted waiter without affecting those before and after it', async () => {
    const { capacity } = setUp(1);
    let active = 1;
    const leaving = new AbortController();
    const order: string[] = [];
    const wait = async (name: string, options: { owner?: string; signal?: AbortSignal }) => {
      const started = await capacity.waitToStart(60_000, () => active, options);
      order.push(`${name} ${started}`);
      if (started) active++;
    };
    const all = [
      wait('a1', { owner: 'a' }),
      wait('a2', { owner: 'a', signal: leaving.signal }),
      wait('b1', { owner: 'b' }),
    ];
    leaving.abort();
    await all[1];
    for (let n = 0; n < 2; n++) {
      active = 0;
      capacity.placeFreed();
      await all[n === 0 ? 0 : 2];
    }
    assert.deepEqual(order, ['a2 false', 'a1 true', 'b1 true']);
    const aborted = await capacity.waitToStart(60_000, () => 0, { signal: leaving.signal });
    assert.equal(aborted, false);
  });

  it('alternates between the queue and the keys that wait', async () => {
    const { capacity } = setUp(1);
    let active = 1;
    const order: string[] = [];
    const wait = async (name: string, owner?: string) => {
      await capacity.waitToStart(60_000, () => active, owner === undefined ? {} : { owner });
      order.push(name);
      active = 0;
      capacity.placeFreed();
    };
    const names = ['queue 1', 'queue 2', 'queue 3', 'a 1', 'a 2', 'a 3', 'b 1'];
    const all = names.map((name) => wait(name, name.startsWith('queue') ? undefined : name.slice(0, 1)));
    active = 0;
    capacity.placeFreed();
    await Promise.all(all);
    assert.deepEqual(order, ['queue 1', 'a 1', 'queue 2', 'b 1', 'queue 3', 'a 2', 'a 3']);
  });

  it('serves waiting runs in order, and drops those whose time is over', async () => {
    const { load, clock, capacity } = setUp();
    load.lagMs = 150;
    const order: number[] = [];
    const waiting = [1, 2, 3].map(async (n) => {
      const started = await capacity.waitToStart(n === 2 ? 100 : 60_000, () => 1);
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

describe('a process under load', () => {
  it('holds queued runs back, refuses more after a while, and completes all that it accepted', async () => {
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

  it('serves a few clients that ask again at once without ever being overloaded', async () => {
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
