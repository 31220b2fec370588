import assert from 'node:assert/strict';
import fc from 'fast-check';
import { encodeTexts, stringifyInParts, wellFormedJson } from '../../../src/base/json-bytes.ts';

describe('encodeTexts', () => {
  it('gives the bytes of all texts joined, whatever their lengths', () => {
    const units = ['a', 'é', '“', '😀', '\n\n'];
    const lengths = [0, 1, 1000, 16 * 1024, 16 * 1024 + 1, 100_000];
    const texts = lengths.flatMap((length) => units.map((unit) => unit.repeat(length / unit.length)));
    for (const order of [texts, texts.toReversed(), texts.slice(-1), texts.slice(0, 9), []])
      assert.ok(encodeTexts(order).equals(Buffer.from(order.join(''))));
  });
});

describe('wellFormedJson', () => {
  it('replaces halves of characters and nothing else', () => {
    const text = fc.array(fc.constantFrom('\\', 'ud83d', '\ud83d', '\ude00', '"', 'a')).map((units) => units.join(''));
    fc.assert(
      fc.property(text, (any) => {
        assert.deepEqual(JSON.parse(wellFormedJson(JSON.stringify([any]))), [any.toWellFormed()]);
      }),
    );
  });
});

describe('stringifyInParts', () => {
  it('yields the same text as JSON.stringify', () => {
    const value = fc.oneof(
      fc.object({ maxDepth: 5, withNullPrototype: false }),
      fc.array(fc.anything({ maxDepth: 3 })),
    );
    fc.assert(fc.property(value, (any) => assert.equal([...stringifyInParts(any)].join(''), JSON.stringify(any))));
    const messages = [{ role: 'user', content: 'a\ud83d', name: undefined }, null];
    for (const any of [{ a: undefined }, { messages, tools: [], text: {} }, [undefined, 1]])
      assert.equal([...stringifyInParts(any)].join(''), JSON.stringify(any));
  });

  it('puts each message of a request and each item of a response into its own part', () => {
    const items = Array.from({ length: 30 }, () => ({ type: 'tool_call', result: 'x'.repeat(24_000) }));
    for (const value of [{ messages: items }, { response: { id: 'a', output: items } }])
      assert.ok(Math.max(...stringifyInParts(value).map(({ length }) => length)) < 25_000);
  });

  it('does not divide what is short', () => {
    const short = { role: 'user', content: [{ type: 'text', text: 'x' }] };
    assert.deepEqual([...stringifyInParts(short)], [JSON.stringify(short)]);
    assert.equal([...stringifyInParts(Array.from({ length: 9000 }, () => short))].length, 9001);
  });
});
