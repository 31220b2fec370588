import assert from 'node:assert/strict';
import { mock } from 'node:test';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { silentLogger } from '../../../src/base/logger.ts';
import { sweepExpired } from '../../../src/runs/expiry.ts';
import { memoryStore, wrapStore } from '../../support/wrapped-store.ts';

const STEP = 200;

describe('sweepExpired', () => {
  beforeEach(() => mock.timers.enable({ apis: ['setInterval', 'setTimeout'] }));
  afterEach(() => mock.timers.reset());

  /** Sweeps a store that has this many runs to remove, and to compress. */
  async function sweeping({ expired, ended }: { expired: number; ended: number }) {
    const inner = await memoryStore();
    const steps: string[] = [];
    const remaining = { expired, ended };
    const take = (kind: keyof typeof remaining, limit: number) => {
      const taken = Math.min(limit, remaining[kind]);
      remaining[kind] -= taken;
      steps.push(`${taken} ${kind}`);
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
      steps,
      sweep,
      /** A minute passes, with all pauses in it. */
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

  it('removes expired runs and compresses ended logs, in steps, once a minute', async () => {
    await using swept = await sweeping({ expired: STEP + 1, ended: 2 * STEP });
    assert.deepEqual(swept.steps, [], 'not at the start');
    await swept.minute();
    assert.deepEqual(swept.steps, ['200 expired', '1 expired', '200 ended', '200 ended', '0 ended']);
    swept.steps.length = 0;
    await swept.minute();
    assert.deepEqual(swept.steps, ['0 expired', '0 ended']);
  });

  it('pauses between steps, and stops when disposed', async () => {
    await using swept = await sweeping({ expired: 3 * STEP, ended: 0 });
    mock.timers.tick(60_000);
    for (let n = 0; n < 10; n++) await nextTurn();
    assert.deepEqual(swept.steps, ['200 expired']);
    swept.sweep[Symbol.dispose]();
    await swept.minute();
    assert.deepEqual(swept.steps, ['200 expired']);
  });
});
