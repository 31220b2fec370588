import assert from 'node:assert/strict';
import fc from 'fast-check';
import { isWithinJsonLimits, measureShape, topLevelSpans } from '../../../src/protocol/requests/json-spans.ts';

const spansIn = (text: string, name = 'model', options?: { anyCase: boolean }) => {
  const json = Buffer.from(text);
  return topLevelSpans(json, name, options).map(({ start, end }) => json.toString('utf8', start, end));
};

describe('topLevelSpans', () => {
  it('finds values of every type, with any whitespace', () => {
    assert.deepEqual(spansIn('{"model":"a"}'), ['"a"']);
    assert.deepEqual(spansIn(' {\n"x" : [ {"model":1} ] ,\t"model" : 12.5e3 }'), ['12.5e3']);
    assert.deepEqual(spansIn('{"model":{"a":[1,"}"]},"b":2}'), ['{"a":[1,"}"]}']);
    assert.deepEqual(spansIn('{"model":null}'), ['null']);
  });

  it('finds no fields inside strings or nested values', () => {
    assert.deepEqual(spansIn('{"a":"\\",\\"model\\":\\"no","b":{"model":"no"},"c":["model"]}'), []);
    assert.deepEqual(spansIn('{"a":"\\\\","model":"yes"}'), ['"yes"']);
  });

  it('finds a name that is repeated or escaped', () => {
    assert.deepEqual(spansIn('{"model":1,"mod\\u0065l":2,"model":3}'), ['1', '2', '3']);
  });

  it('ignores the case of names only if asked to', () => {
    const json = '{"Model":1,"models":2,"MODE\\u004c":3,"model":4}';
    assert.deepEqual(spansIn(json), ['4']);
    assert.deepEqual(spansIn(json, 'model', { anyCase: true }), ['1', '3', '4']);
  });

  it('finds a field behind escapes, wherever they begin', () => {
    for (const text of ['\\"', '\\\\', '\\\\\\"', `${'x'.repeat(30)}\\"`]) {
      for (let cut = 1; cut < 40; cut++) {
        const json = `{"${'n'.repeat(cut)}":"${'x'.repeat(cut)}${text.repeat(cut)}","model":"yes"}`;
        assert.deepEqual(spansIn(json), ['"yes"'], json);
      }
    }
  });

  it('does not call the native search for each of many quotes', () => {
    const json = Buffer.from(`{"x":"${'\\"'.repeat(10_000)}","model":"yes"}`);
    let count = 0;
    const counted = new Proxy(Buffer.prototype.indexOf, {
      apply(find, _, args) {
        count++;
        return Reflect.apply(find, json, args);
      },
    });
    Object.defineProperty(json, 'indexOf', { value: counted });
    assert.equal(topLevelSpans(json, 'model').length, 1);
    assert.ok(count < 1000, `${count} times`);
  });

  it('finds nothing in an empty object', () => {
    assert.deepEqual(spansIn('{}'), []);
    assert.deepEqual(spansIn(' { } '), []);
  });

  it('agrees with JSON.parse on any object, however it is formatted', () => {
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

describe('measureShape', () => {
  const limit = { depth: 9, containers: 9, members: 9, entries: 9 };
  const shape = (text: string) => measureShape(Buffer.from(text), limit);

  it('counts arrays, objects, members and entries, and ignores strings', () => {
    assert.deepEqual(shape('1'), { depth: 0, containers: 0, members: 0, entries: 0 });
    assert.deepEqual(shape('[[],{"a":[1],"b":"x,\\",:[["}]'), { depth: 3, containers: 4, members: 2, entries: 2 });
    assert.deepEqual(shape('{"a":"[[[["}'), { depth: 1, containers: 1, members: 1, entries: 0 });
  });

  it('stops once the shape exceeds the limit', () => {
    assert.equal(shape('['.repeat(1000)).depth, 10);
    assert.equal(shape('[],'.repeat(1000)).containers, 10);
    assert.equal(shape('1,'.repeat(1000)).entries, 10);
    assert.equal(shape('"a":1 '.repeat(1000)).members, 10);
  });
});

describe('isWithinJsonLimits', () => {
  const padding = ' '.repeat(5000);
  const nested = (open: string, close: string, depth: number) =>
    `${padding}${open.repeat(depth)}1${close.repeat(depth)}`;

  it('limits depth and number of values, whatever the strings contain', () => {
    const readable = [
      nested('[', ']', 100),
      nested('{"a":', '}', 100),
      `["${'[{'.repeat(5000)}"]`,
      `[${'0.123456789,'.repeat(16_000)}1]`,
      `[${'1,'.repeat(200_000)}1]`,
      `[${'{},'.repeat(49_000)}1]`,
    ];
    for (const json of readable)
      assert.ok(isWithinJsonLimits(json) && isWithinJsonLimits(Buffer.from(json)), json.slice(0, 20));
    const unreadable = [
      nested('[', ']', 101),
      nested('{"a":', '}', 101),
      `[${'1,'.repeat(200_001)}1]`,
      `[${'{},'.repeat(50_000)}1]`,
      `{${Array.from({ length: 100_001 }, (_, n) => `"${n}":1`).join()}}`,
    ];
    for (const json of unreadable)
      assert.ok(!isWithinJsonLimits(json) && !isWithinJsonLimits(Buffer.from(json)), json.slice(0, 20));
  });
});
