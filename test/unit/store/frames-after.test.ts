import assert from 'node:assert/strict';
import fc from 'fast-check';
import { decodeFrames } from '../../../src/protocol/frames.ts';
import { offsetAfter } from '../../../src/store/frames.ts';

describe('offsetAfter', () => {
  it('finds all frames after an event, however long each frame is', () => {
    const lengths = fc.array(fc.oneof(fc.integer({ min: 0, max: 300 }), fc.integer({ min: 0, max: 30_000 })), {
      minLength: 1,
      maxLength: 200,
    });
    fc.assert(
      fc.property(lengths, fc.nat(), (all, place) => {
        const frames = all.map((length, index) => frame(index + 1, length));
        const after = place % (all.length + 1);
        const bytes = Buffer.concat(frames);
        const rest = bytes.subarray(offsetAfter(bytes, after));
        assert.ok(rest.equals(Buffer.concat(frames.slice(after))), `after ${after}`);
        const next = decodeFrames(rest)[0]?.sequence_number;
        assert.equal(next, after < all.length ? after + 1 : undefined);
      }),
      { numRuns: 100 },
    );
  });
});

function frame(number: number, length: number): Buffer {
  const text = `say "sequence_number":7 ${'x'.repeat(length)}`;
  return Buffer.from(`event: x\ndata: {"type":"x","sequence_number":${number},"delta":${JSON.stringify(text)}}\n\n`);
}
