import assert from 'node:assert/strict';
import fc from 'fast-check';
import { repairJson } from '../../../src/upstream/dialects/json-repair.ts';

describe('repairJson', () => {
  const cases: [string, unknown][] = [
    ['{"a": 1}', { a: 1 }],
    ['text before {"a": [1, 2,],} and after', { a: [1, 2] }],
    ["{'a': 'it\\'s', 'b': 'x'}", { a: "it's", b: 'x' }],
    ['{a: True, b: None, c: false}', { a: true, b: null, c: false }],
    ['{"a": "line\nbreak\ttab"}', { a: 'line\nbreak\ttab' }],
    ['{"a": "she said "no" twice", "b": 1}', { a: 'she said "no" twice', b: 1 }],
    ['{"a": {"b": [1, {"c": "open', { a: { b: [1, { c: 'open' }] } }],
    ['{"a": 1, // why\n "b": /* what */ 2}', { a: 1, b: 2 }],
    ['{“a”: “curly”}', { a: 'curly' }],
    ['{"a": unquoted words, "b": -1.5e3}', { a: 'unquoted words', b: -1500 }],
    ['{"__proto__": {"x": 1}}', JSON.parse('{"__proto__": {"x": 1}}')],
    ['["a", "b"', ['a', 'b']],
  ];
  for (const [text, value] of cases) it(`reads ${text}`, () => assert.deepEqual(repairJson(text)?.value, value));

  it('has no value if there is no JSON', () => {
    for (const text of ['', 'words', '{:', '{"a" "b"}']) assert.equal(repairJson(text)?.value, undefined, text);
  });

  it('says where the value ends and whether it was complete', () => {
    assert.deepEqual(repairJson('{"a":1} rest'), { value: { a: 1 }, end: 7, whole: true });
    assert.equal(repairJson('{"a":')?.whole, false);
    for (const text of ['{"a": "b\\', '{"a": "\\u00']) assert.equal(repairJson(text)?.end, text.length);
  });

  it('returns the same value for JSON that needs no repair', () => {
    fc.assert(
      fc.property(
        fc.oneof(fc.array(fc.jsonValue({ maxDepth: 4 })), fc.dictionary(fc.string(), fc.jsonValue())),
        (value) => {
          const text = JSON.stringify(value);
          if (/"[^"]*[`'“‘][^"]*"|\\"/.test(text)) return;
          assert.deepEqual(repairJson(text)?.value, JSON.parse(text));
        },
      ),
    );
  });

  it('never throws or hangs, whatever the text', () => {
    fc.assert(
      fc.property(
        fc.array(fc.constantFrom('{', '}', '[', ']', '"', "'", ':', ',', '\\', 'a', '1', '/', '*', '\n', ' '), {
          maxLength: 80,
        }),
        (pieces) => {
          repairJson(pieces.join(''));
        },
      ),
    );
    assert.equal(repairJson('['.repeat(100_000)), undefined);
    assert.ok(repairJson(`{"a": "${'"x'.repeat(5000)}`));
  });
});
