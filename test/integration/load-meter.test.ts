import assert from 'node:assert/strict';
import { fork } from 'node:child_process';
import { once } from 'node:events';
import { setTimeout as delay } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { MAX_LAG_MS, WEIGHT } from '../../src/runs/load-meter.ts';
import { patience } from '../support/time-limit.ts';

const CHILD = fileURLToPath(new URL('../support/load-meter-child.ts', import.meta.url));

describe('the load meter of a process', function () {
  // A process is stopped and held up.
  this.timeout(patience(30));
  it('counts how late its own work makes it, not how long the machine did other things', async () => {
    const child = fork(CHILD);
    try {
      const ask = async (what: 'look' | 'work'): Promise<{ before: number; highest: number; workedMs: number }> => {
        const answered = once(child, 'message');
        child.send(what);
        const [answer] = await answered;
        return answer;
      };
      await once(child, 'message');
      await ask('look');
      // As if neighbours had the processor: it waits for what is due, and is not let run.
      child.kill('SIGSTOP');
      await delay(1500);
      child.kill('SIGCONT');
      const stopped = await ask('look');
      // On a slow machine it may have been stopped in the middle of a step, which counts as work.
      const most = stopped.before + WEIGHT * stopped.workedMs;
      assert.ok(stopped.highest <= most, `${stopped.highest} of ${most} ms`);
      const busy = await ask('work');
      assert.ok(busy.highest >= MAX_LAG_MS, `${busy.highest} ms`);
    } finally {
      child.kill('SIGKILL');
    }
  });
});
