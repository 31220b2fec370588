import assert from 'node:assert/strict';
import { deliverDirectly, LiveTail } from '../../../src/runs/reading/live-tail.ts';
import type { LogBatch } from '../../../src/store/run-store.ts';
import { frames } from '../../contract/run-store-fixture.ts';

const batch = (n: number, end = false): LogBatch => ({ first: n, last: n, frames: frames(n, n), end });

describe('deliverDirectly', () => {
  let tail: LiveTail;
  let cursor: { last: number };
  let passed: number[];
  let takes: boolean;
  const handlers = () =>
    deliverDirectly(tail, {
      cursor,
      deliver: ({ last }) => {
        if (takes) passed.push(last);
        return takes;
      },
    });
  const wait = () => tail.wait(60_000, AbortSignal.timeout(5000));
  beforeEach(() => {
    tail = new LiveTail();
    cursor = { last: 2 };
    passed = [];
    takes = true;
  });

  it('delivers batches while the reader waits, up to the end', async () => {
    const news = wait();
    handlers().onBatch(batch(3));
    handlers().onBatch(batch(4, true));
    assert.equal(await news, true);
    assert.deepEqual([passed, cursor.last, tail.ended, tail.take()], [[3, 4], 4, true, undefined]);
  });

  it('leaves to the iteration what arrives unawaited, is refused or does not continue the sequence', async () => {
    handlers().onBatch(batch(3));
    assert.equal(tail.take()?.last, 3);
    const ahead = wait();
    handlers().onBatch(batch(5));
    assert.equal(await ahead, true);
    assert.equal(tail.take()?.last, 5);
    takes = false;
    const refused = wait();
    handlers().onBatch(batch(3));
    assert.equal(await refused, true);
    assert.equal(tail.take()?.last, 3);
    assert.deepEqual([passed, cursor.last], [[], 2]);
  });

  it('stops at a gap', async () => {
    const news = wait();
    handlers().onGap();
    handlers().onBatch(batch(3));
    assert.equal(await news, true);
    assert.deepEqual([passed, tail.gap, tail.take()], [[], true, undefined]);
  });
});
