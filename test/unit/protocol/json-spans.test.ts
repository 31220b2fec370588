import assert from 'node:assert/strict';
import fc from 'fast-check';
import { nestingDepth, topLevelSpans } from '../../../src/protocol/json-spans.ts';

const spansIn = (text: string, name = 'model') => {
  const json = Buffer.from(text);
  return topLevelSpans(json, name).map(({ start, end }) => json.toString('utf8', start, end));
};

describe('topLevelSpans', () => {
  it('finds values of every kind, with blanks anywhere', () => {
    assert.deepEqual(spansIn('{"model":"a"}'), ['"a"']);
    assert.deepEqual(spansIn(' {\n"x" : [ {"model":1} ] ,\t"model" : 12.5e3 }'), ['12.5e3']);
    assert.deepEqual(spansIn('{"model":{"a":[1,"}"]},"b":2}'), ['{"a":[1,"}"]}']);
    assert.deepEqual(spansIn('{"model":null}'), ['null']);
  });

  it('takes nothing inside strings or nested values for a field', () => {
    assert.deepEqual(spansIn('{"a":"\\",\\"model\\":\\"no","b":{"model":"no"},"c":["model"]}'), []);
    assert.deepEqual(spansIn('{"a":"\\\\","model":"yes"}'), ['"yes"']);
  });

  it('finds a name that is repeated or written with escapes', () => {
    assert.deepEqual(spansIn('{"model":1,"mod\\u0065l":2,"model":3}'), ['1', '2', '3']);
  });

  it('finds nothing in an empty object', () => {
    assert.deepEqual(spansIn('{}'), []);
    assert.deepEqual(spansIn(' { } '), []);
  });

  it('agrees with JSON.parse on any object, however it is written', () => {
    const object = fc.dictionary(
      fc.oneof(fc.constantFrom('model', 'a"b', '\\'), fc.string({ unit: 'binary' })),
      fc.jsonValue(),
    );
    fc.assert(
      fc.property(object, fc.jsonValue(), fc.constantFrom(undefined, 1, '\t'), (fields, value, indent) => {
        const text = JSON.stringify({ ...fields, model: value }, undefined, indent);
        const spans = spansIn(text);
        assert.equal(spans.length, 1);
        assert.deepEqual(JSON.parse(spans[0] ?? ''), JSON.parse(text).model);
      }),
    );
  });
});

describe('nestingDepth', () => {
  it('counts arrays and objects, and no brackets in strings', () => {
    const depth = (text: string) => nestingDepth(Buffer.from(text));
    assert.deepEqual([depth('1'), depth('{}'), depth('[[],{"a":[1]}]'), depth('{"a":"[[[["}')], [0, 1, 3, 1]);
  });
});
