import assert from 'node:assert/strict';
import { once } from '../../../src/base/once.ts';

describe('once', () => {
  it('does its work with the first call', async () => {
    let calls = 0;
    const work = once(async () => ++calls);
    assert.deepEqual(await Promise.all([work(), work()]), [1, 1]);
    assert.equal(await work(), 1);
  });

  it('tries again after a failure: what fails to load while files run out is loaded later', async () => {
    let calls = 0;
    const work = once(async () => {
      if (++calls === 1) throw new Error('EMFILE');
      return calls;
    });
    const failures = await Promise.allSettled([work(), work()]);
    assert.deepEqual(
      failures.map(({ status }) => status),
      ['rejected', 'rejected'],
    );
    assert.equal(await work(), 2);
  });
});
