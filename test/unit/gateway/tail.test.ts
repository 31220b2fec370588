import assert from 'node:assert/strict';
import { Tail } from '../../../src/gateway/answers/tail.ts';

describe('Tail', () => {
  it('keeps the last 16 000 characters, or the last chunk if that is longer', () => {
    const tail = new Tail();
    for (let n = 0; n < 1000; n++) tail.push(Buffer.from(`${n}`.padEnd(100)));
    assert.ok(tail.text().length < 17_000 && tail.text().length >= 16_000);
    assert.match(tail.text(), /999 +$/);
    tail.push(Buffer.alloc(100_000, 'x'));
    assert.equal(tail.text().length, 100_000);
  });
});
