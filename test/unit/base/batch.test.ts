import assert from 'node:assert/strict';
import { Batch } from '../../../src/base/batch.ts';

describe('a batch', () => {
  it('tells of everything once, in order: when it is full, or when it is asked to', () => {
    const told: number[] = [];
    const batch = new Batch<number>((item) => told.push(item), { size: 3 });
    batch.push(1);
    batch.push(2);
    assert.deepEqual(told, []);
    batch.push(3);
    assert.deepEqual(told, [1, 2, 3]);
    batch.push(4);
    batch.flush();
    batch.flush();
    assert.deepEqual(told, [1, 2, 3, 4]);
  });
});
