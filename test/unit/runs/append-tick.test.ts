import assert from 'node:assert/strict';
import { setImmediate as turnOfLoop } from 'node:timers/promises';
import { AppendTick, MAX_TICK_MS } from '../../../src/runs/executing/log/append-tick.ts';

describe('AppendTick', () => {
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

  it('lets a run that writes alone append in the same turn of the event loop, every time', async () => {
    const tick = new AppendTick(idle);
    const writer = {};
    for (let n = 0; n < 100; n++) assert.equal(await atOnce(tick.next(writer)), true);
  });

  it('batches the appends of several runs', async () => {
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

  it('lengthens under load, and is shared by all who wait for it', async () => {
    const tick = new AppendTick(full);
    await tick.next({});
    const began = performance.now();
    await tick.next({});
    const took = performance.now() - began;
    assert.ok(took > MAX_TICK_MS / 2, `${took} ms`);
    // Everyone who waits for a tick shares it.
    const first = tick.next({});
    const second = tick.next({});
    assert.equal(first, second);
    await first;
  });
});
