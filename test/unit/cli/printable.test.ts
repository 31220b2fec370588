import assert from 'node:assert/strict';
import { duration, fitTo, printable, widthOf } from '../../../src/cli/printable.ts';

describe('text on a terminal', () => {
  it('has no control characters except newlines and tabs', () => {
    assert.equal(printable('a\u001b[31mb\u0007\u009bc\r\nd\te\u2066f'), 'a[31mbc\nd\tef');
  });

  it('is measured in columns: two for a wide character or a family emoji', () => {
    assert.deepEqual([widthOf('abc'), widthOf('网关'), widthOf('👩‍👩‍👧'), widthOf('é')], [3, 4, 2, 1]);
  });

  it('is cut to the available columns, never inside a character', () => {
    assert.equal(fitTo('abcdef', 6), 'abcdef');
    assert.equal(fitTo('abcdefg', 6), 'abcde…');
    assert.equal(fitTo('网关网关', 6), '网关…');
    assert.ok(widthOf(fitTo('👩‍👩‍👧'.repeat(20), 11)) <= 11);
  });

  it('shows durations as m:ss or h:mm:ss', () => {
    assert.deepEqual([0, 61_000, 3_661_000].map(duration), ['0:00', '1:01', '1:01:01']);
  });
});
