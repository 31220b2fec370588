import assert from 'node:assert/strict';
import { setImmediate as turnOfLoop } from 'node:timers/promises';
import { AppendTick, MAX_TICK_MS } from '../../../src/runs/executing/log/append-tick.ts';

describe('the tick of appends', () => {
  const idle = { utilization: 0, lagMs: 0 };
  const full = { utilization: 1, lagMs: 0 };

  /** Whether it is resolved in this turn of the event loop, without any time passing. */
  async function atOnce(waiting: Promise<void>): Promise<boolean> {
    let done = false;
    void waiting.then(() => {
      done = true;
    });
    await turnOfLoop();
    return done;
  }

  it('lets a run that writes alone append in the turn of the event loop in which it asks, again and again', async () => {
    const tick = new AppendTick(idle);
    const writer = {};
    for (let n = 0; n < 100; n++) assert.equal(await atOnce(tick.next(writer)), true);
  });

  it('brings the appends of several runs together', async () => {
    const tick = new AppendTick(idle);
    const writers = Array.from({ length: 50 }, () => ({}));
    let moments = 0;
    let batches = 0;
    for (let round = 0; round < 20; round++) {
      const went = new Set<number>();
      let turn = 0;
      const all = writers.map(async (writer) => {
        await tick.next(writer);
        went.add(turn);
        batches++;
      });
      const settled = Promise.all(all);
      let over = false;
      void settled.then(() => {
        over = true;
      });
      for (; !over; turn++) await turnOfLoop();
      moments += went.size;
    }
    assert.equal(batches, 1000);
    assert.ok(moments <= 60, `${moments} moments for 20 rounds of 50`);
  });

  it('lengthens under load, to its bound and not further', async () => {
    const tick = new AppendTick(full);
    await tick.next({});
    const began = performance.now();
    await tick.next({});
    const took = performance.now() - began;
    assert.ok(took > MAX_TICK_MS / 2, `${took} ms`);
    // Whoever comes while a tick is awaited goes with it.
    const first = tick.next({});
    const second = tick.next({});
    assert.equal(first, second);
    await first;
  });
});
