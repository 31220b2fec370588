import assert from 'node:assert/strict';
import { once } from 'node:events';
import { Worker } from 'node:worker_threads';
import { TimeoutError, withTimeout } from '../../src/base/abort.ts';
import { StallDetector } from '../../src/base/load/stall.ts';

/** As a process is held up that is stopped and goes on: nothing of it runs. */
function standStill(ms: number): void {
  Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, ms);
}

describe('a process that stood still', () => {
  it('takes an answer that came meanwhile, though its time is over', async () => {
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

  it('waits no longer for one that does not come', async () => {
    const answer = withTimeout('asking', 100, () => new Promise(() => {}));
    standStill(1300);
    await assert.rejects(answer, TimeoutError);
  });

  it('knows it, whichever timer comes first', async () => {
    using watch = new StallDetector();
    assert.equal(watch.hasStalled, false);
    standStill(1600);
    assert.equal(watch.hasStalled, true);
    await new Promise((resolve) => setTimeout(resolve));
    assert.equal(watch.hasStalled, true, 'also later');
  });
});
