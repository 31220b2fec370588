import assert from 'node:assert/strict';
import { fileURLToPath } from 'node:url';
import fc from 'fast-check';

const file = fileURLToPath(new URL('../../../src/console/page/parts/row-offsets.js', import.meta.url));
const { RowOffsets } = await import(file);

interface Row {
  key: string;
  kind: string;
}

const rowsOf = (count: number) =>
  Array.from({ length: count }, (_, index) => ({ key: `${index}`, kind: index % 3 ? 'a' : 'b' }));

describe('RowOffsets', () => {
  it('starts each row where the one before ends, whatever is added and measured in any order', () => {
    const step = fc.oneof(
      fc.record({ rows: fc.integer({ min: 0, max: 40 }) }),
      fc.record({ measure: fc.nat(40), height: fc.integer({ min: 1, max: 300 }) }),
    );
    fc.assert(
      fc.property(fc.array(step, { maxLength: 60 }), (steps) => {
        const offsets = new RowOffsets(30);
        const known = new Map<string, number>();
        let count = 0;
        for (const one of steps) {
          if ('rows' in one) count = one.rows;
          else {
            offsets.measured(String(one.measure), one.height);
            known.set(String(one.measure), one.height);
          }
          const rows = rowsOf(count);
          offsets.update(count, (index: number) => rows[index]);
          for (let index = 0; index < count; index += 1) {
            const height = offsets.startOf(index + 1) - offsets.startOf(index);
            const wanted = known.get(String(index));
            if (wanted !== undefined) assert.equal(height, wanted);
            assert.ok(height > 0);
          }
          assert.equal(offsets.total, offsets.startOf(count));
        }
      }),
    );
  });

  it('does not look at earlier rows again when rows are added', () => {
    const offsets = new RowOffsets(30);
    let looked = 0;
    const rowAt = (index: number): Row => {
      looked += 1;
      return { key: `${index}`, kind: 'a' };
    };
    for (let count = 1; count <= 10_000; count += 1) offsets.update(count, rowAt);
    assert.ok(looked < 30_000, `${looked} looks`);
    assert.deepEqual(offsets.between(150_000, 150_100), [5000, 5004]);
  });

  it("assumes the last height of a row's kind, and says when other rows move", () => {
    const offsets = new RowOffsets(30);
    const rows = rowsOf(10);
    offsets.update(2, (index: number) => rows[index]);
    assert.equal(offsets.measured('1', 42), true);
    offsets.update(3, (index: number) => rows[index]);
    assert.equal(offsets.startOf(3), 30 + 42 + 42);
    assert.equal(offsets.measured('2', 42.2), false, 'nothing that one could see');
  });
});
