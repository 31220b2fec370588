import assert from 'node:assert/strict';
import { fork } from 'node:child_process';
import { once } from 'node:events';
import { setTimeout as delay } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { MAX_LAG_MS, SAMPLE_WEIGHT } from '../../src/runs/load-meter.ts';
import { patience } from '../support/time-limit.ts';

const CHILD = fileURLToPath(new URL('../support/load-meter-child.ts', import.meta.url));

describe('the load meter of a process', function () {
  // A process is stopped and held up.
  this.timeout(patience(30));
  it('measures the delay that the process causes itself, not the time when it was not running', async () => {
    const child = fork(CHILD);
    try {
      type Answer = { before: number; highest: number; workedMs: number };
      const ask = async (work: number): Promise<Answer> => {
        child.send({ work });
        for (;;) {
          const [answer] = await once(child, 'message');
          if (answer !== 'working') return answer;
        }
      };
      // Simulates other processes taking the processor.
      const holdUp = async () => {
        child.kill('SIGSTOP');
        await delay(1500);
        child.kill('SIGCONT');
      };
      await once(child, 'message');
      await ask(0);
      // The child is idle and is not scheduled.
      await holdUp();
      const waited = await ask(0);
      // The child is stopped in the middle of a step.
      child.once('message', () => void holdUp());
      const interrupted = await ask(300);
      for (const { before, highest, workedMs } of [waited, interrupted]) {
        assert.ok(
          highest <= before + SAMPLE_WEIGHT * workedMs,
          `${highest} ms after ${before} and ${workedMs} of work`,
        );
      }
      const busy = await ask(2000);
      assert.ok(busy.highest >= MAX_LAG_MS, `${busy.highest} ms`);
    } finally {
      child.kill('SIGKILL');
    }
  });
});
