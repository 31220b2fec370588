import assert from 'node:assert/strict';
import { abortable } from '../../../src/base/abort.ts';
import { areCollected } from '../../support/collect-garbage.ts';

describe('abortable', () => {
  it('settles like the promise, or rejects with the abort reason if that comes first', async () => {
    const { signal } = new AbortController();
    assert.equal(await abortable(Promise.resolve(1), signal), 1);
    await assert.rejects(abortable(Promise.reject(new Error('failed')), signal), /failed/);
    const left = AbortSignal.abort(new Error('left'));
    await assert.rejects(abortable(new Promise(() => {}), left), /left/);
    await assert.rejects(abortable(Promise.reject(new Error('failed')), left), /left/);
  });

  it('retains nothing of an aborted waiter while the promise is pending', async () => {
    const lasting = Promise.withResolvers<void>();
    const wait = async () => {
      const leaving = new AbortController();
      const reason = new Error('left');
      const job = { bytes: new Uint8Array(1000), signal: leaving.signal, reason };
      const work = async () => {
        await abortable(lasting.promise, leaving.signal);
        return job.bytes;
      };
      const waiting = work();
      leaving.abort(reason);
      await assert.rejects(waiting, /left/);
      return [new WeakRef(job), new WeakRef(reason), new WeakRef(leaving.signal)];
    };
    assert.ok(await areCollected(await wait()));
    lasting.resolve();
  });
});
