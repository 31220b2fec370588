import assert from 'node:assert/strict';
import { once } from 'node:events';
import { Worker } from 'node:worker_threads';
import { TimeoutError, withTimeout } from '../../src/base/abort.ts';
import { StallDetector } from '../../src/base/load/stall.ts';

/** Blocks the whole thread, as if the process had been stopped and continued. */
function standStill(ms: number): void {
  Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, ms);
}

describe('a process that was suspended', () => {
  it('accepts an answer that arrived in the meantime, even past the timeout', async () => {
    const worker = new Worker(
      `const { parentPort } = require('node:worker_threads');
       parentPort.once('message', () => setTimeout(() => parentPort.postMessage('answer'), 100));
       parentPort.postMessage('ready');`,
      { eval: true },
    );
    try {
      await once(worker, 'message');
      const answer = withTimeout('asking', 500, async () => {
        worker.postMessage('question');
        return await once(worker, 'message');
      });
      standStill(1800);
      assert.deepEqual(await answer, ['answer']);
    } finally {
      await worker.terminate();
    }
  });

  it('still times out if no answer arrives', async () => {
    const answer = withTimeout('asking', 100, () => new Promise(() => {}));
    standStill(1300);
    await assert.rejects(answer, TimeoutError);
  });

  it('knows that it stalled, before and after other timers run', async () => {
    using watch = new StallDetector();
    assert.equal(watch.hasStalled, false);
    standStill(1600);
    assert.equal(watch.hasStalled, true);
    await new Promise((resolve) => setTimeout(resolve));
    assert.equal(watch.hasStalled, true, 'also later');
  });
});
