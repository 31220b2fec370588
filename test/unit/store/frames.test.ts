import assert from 'node:assert/strict';
import { GatewayError } from '../../../src/base/errors.ts';
import { dropUpTo, joinBatches, offsetAfter } from '../../../src/store/frames.ts';
import { frame, frames } from '../../contract/run-store-fixture.ts';

const batch = (first: number, last: number, end = false) => ({ first, last, frames: frames(first, last), end });

describe('frames of a batch', () => {
  it('are counted by their blank lines', () => {
    const bytes = frames(1, 3, 'a\n\nb');
    assert.equal(offsetAfter(bytes, 0), 0);
    assert.equal(offsetAfter(bytes, 1), frame(1, 'a\n\nb').length);
    assert.equal(offsetAfter(bytes, 3), bytes.length);
  });

  it('are an error if there are fewer than the batch says', () => {
    assert.throws(() => offsetAfter(frames(1, 3), 4), GatewayError);
    assert.throws(() => offsetAfter(Buffer.from('event: a\n'), 1), GatewayError);
  });

  it('are dropped up to an event number', () => {
    assert.deepEqual(dropUpTo(batch(5, 9, true), 6), { ...batch(7, 9, true), frames: frames(7, 9) });
    const whole = batch(5, 9);
    assert.equal(dropUpTo(whole, 4), whole);
  });

  it('are joined only if the batches follow each other', () => {
    assert.equal(joinBatches([]), undefined);
    assert.deepEqual(joinBatches([batch(1, 2), batch(3, 3), batch(4, 6, true)]), batch(1, 6, true));
    assert.throws(() => joinBatches([batch(1, 2), batch(4, 6)]), /event 3 is missing/);
    assert.throws(() => joinBatches([batch(1, 2), batch(2, 6)]), GatewayError);
  });
});
