import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { limitProcess } from '../../../src/base/load/process-usage.ts';

describe('the time limit of a process', () => {
  it('does not end one whose answer came while this process was kept from running', async () => {
    using child = spawn('cat');
    const outcome = Promise.withResolvers<string>();
    using limit = limitProcess(child.pid, { timeMs: 300, memoryBytes: Number.POSITIVE_INFINITY }, outcome.resolve);
    child.stdout.once('data', () => {
      limit[Symbol.dispose]();
      outcome.resolve('answered');
    });
    await new Promise((sent) => child.stdin.write('x', sent));
    Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 600);
    assert.equal(await outcome.promise, 'answered');
  });

  it('ends one that does not answer', async () => {
    using child = spawn('cat');
    const outcome = Promise.withResolvers<string>();
    using _ = limitProcess(child.pid, { timeMs: 50, memoryBytes: Number.POSITIVE_INFINITY }, outcome.resolve);
    assert.equal(await outcome.promise, 'time');
  });
});
