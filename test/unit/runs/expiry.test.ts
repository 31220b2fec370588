import assert from 'node:assert/strict';
import { mock } from 'node:test';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { silentLogger } from '../../../src/base/logger.ts';
import { sweepExpired } from '../../../src/runs/expiry.ts';
import { memoryStore, wrapStore } from '../../support/wrapped-store.ts';

const STEP = 200;

describe('the sweep of ended runs', () => {
  beforeEach(() => mock.timers.enable({ apis: ['setInterval', 'setTimeout'] }));
  afterEach(() => mock.timers.reset());

  /** Sweeps a store that has this many runs to remove, and to compress. */
  async function sweeping({ expired, ended }: { expired: number; ended: number }) {
    const inner = await memoryStore();
    const asked: string[] = [];
    const left = { expired, ended };
    const take = (kind: keyof typeof left, limit: number) => {
      const taken = Math.min(limit, left[kind]);
      left[kind] -= taken;
      asked.push(`${taken} ${kind}`);
      return Promise.resolve(taken);
    };
    const store = wrapStore(inner, {
      removeExpired: ({ limit }) => take('expired', limit),
      compressEnded({ limit, endedForMs }) {
        assert.equal(endedForMs, 10 * 60_000);
        return take('ended', limit);
      },
    });
    const sweep = sweepExpired({ store, log: silentLogger });
    return {
      asked,
      sweep,
      /** A minute, and all rests in it. */
      async minute() {
        mock.timers.tick(60_000);
        for (let n = 0; n < 20; n++) {
          await nextTurn();
          mock.timers.tick(1000);
        }
      },
      async [Symbol.asyncDispose]() {
        sweep[Symbol.dispose]();
        await inner.close();
      },
    };
  }

  it('removes those whose time is over and compresses the logs of the others, in steps, every minute', async () => {
    await using swept = await sweeping({ expired: STEP + 1, ended: 2 * STEP });
    assert.deepEqual(swept.asked, [], 'not at the start');
    await swept.minute();
    assert.deepEqual(swept.asked, ['200 expired', '1 expired', '200 ended', '200 ended', '0 ended']);
    swept.asked.length = 0;
    await swept.minute();
    assert.deepEqual(swept.asked, ['0 expired', '0 ended']);
  });

  it('rests between its steps, and takes none after its end', async () => {
    await using swept = await sweeping({ expired: 3 * STEP, ended: 0 });
    mock.timers.tick(60_000);
    for (let n = 0; n < 10; n++) await nextTurn();
    assert.deepEqual(swept.asked, ['200 expired']);
    swept.sweep[Symbol.dispose]();
    await swept.minute();
    assert.deepEqual(swept.asked, ['200 expired']);
  });
});
