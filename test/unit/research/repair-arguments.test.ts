import assert from 'node:assert/strict';
import fc from 'fast-check';
import { repairArguments } from '../../../src/research/calls/repair-arguments.ts';

const repaired: [string, string, object][] = [
  ['valid JSON', '{"q":"cats"}', { q: 'cats' }],
  ['an empty string', '', {}],
  ['only spaces', '  \n', {}],
  ['a code fence', '```json\n{"q": "cats"}\n```', { q: 'cats' }],
  ['a fence without language', '```\n{"q": "cats"}\n```', { q: 'cats' }],
  ['a trailing comma', '{"q": ["a", "b",],}', { q: ['a', 'b'] }],
  ['single quotes', "{'q': 'cats'}", { q: 'cats' }],
  ['names without quotes', '{q: "cats", n: 3}', { q: 'cats', n: 3 }],
  ['a cut string', '{"q": "cats and do', { q: 'cats and do' }],
  ['a cut list', '{"queries": ["cats", "dogs"', { queries: ['cats', 'dogs'] }],
  ['a cut after a comma', '{"q": "cats",', { q: 'cats' }],
  ['doubly encoded JSON', '"{\\"q\\": \\"cats\\"}"', { q: 'cats' }],
  ['text before the object', 'Sure! {"q": "cats"}', { q: 'cats' }],
  ['text after the object', '{"q": "cats"} I hope that this helps', { q: 'cats' }],
  ['brackets inside a string', '{"q": "a } b ] c"', { q: 'a } b ] c' }],
  ['a comma before a bracket inside a string', '{"q": "a, ] b"}', { q: 'a, ] b' }],
  ['CJK and emoji', '{"q": "深度研究 🐈",}', { q: '深度研究 🐈' }],
];

describe('repairArguments', () => {
  for (const [what, text, value] of repaired)
    it(`handles ${what}`, () => {
      const result = repairArguments(text);
      assert.deepEqual(JSON.parse(result.arguments), value);
      assert.equal(result.ok, true);
    });

  for (const text of ['look for cats', '[1, 2]', 'null', '42', '{{{', '<tool>cats</tool>'])
    it(`keeps anything but an object as raw text: ${text}`, () => {
      const { arguments: kept, ok } = repairArguments(text);
      if (ok) return assert.fail(`became ${kept}`);
      assert.deepEqual(JSON.parse(kept), { raw: text });
    });

  it('always returns the JSON of an object, whatever the text', () => {
    fc.assert(
      fc.property(fc.string({ maxLength: 200, unit: 'binary' }), (text) => {
        const value = JSON.parse(repairArguments(text).arguments);
        assert.ok(typeof value === 'object' && value !== null && !Array.isArray(value));
      }),
      { seed: 5, numRuns: 2000 },
    );
  });

  it('does not change a byte of valid arguments, big numbers included', () => {
    const text = '{ "id": 12345678901234567890,  "q":"cats" }';
    assert.equal(repairArguments(text).arguments, text);
    fc.assert(
      fc.property(fc.dictionary(fc.string(), fc.jsonValue()), (value) => {
        assert.equal(repairArguments(JSON.stringify(value)).arguments, JSON.stringify(value));
      }),
      { seed: 6 },
    );
  });

  it('keeps the complete part of arguments that were cut anywhere', () => {
    const text = JSON.stringify({ queries: ['cats and dogs', 'whales'], goal: 'to know "all"', n: { deep: [1, 2] } });
    for (let cut = 14; cut < text.length; cut++) {
      const { arguments: fixed } = repairArguments(text.slice(0, cut));
      const value = JSON.parse(fixed);
      assert.ok('queries' in value || 'raw' in value, `${text.slice(0, cut)} became ${fixed}`);
    }
  });
});
