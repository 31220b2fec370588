import assert from 'node:assert/strict';
import type { JsonValue } from '../../../src/base/json.ts';
import { schemaMismatch } from '../../../src/tools/mcp/output-schema.ts';
import { isSlow, ownMs } from '../../support/fair-time.ts';

const CASES: readonly { schema: JsonValue; good: JsonValue[]; bad: JsonValue[] }[] = [
  { schema: true, good: [1, null, 'x'], bad: [] },
  { schema: false, good: [], bad: [1, null] },
  { schema: { type: 'string', minLength: 2, maxLength: 3 }, good: ['ab', 'abc'], bad: ['a', 'abcd', 1] },
  { schema: { type: ['integer', 'null'] }, good: [1, null, 2.0], bad: [1.5, '1', true] },
  { schema: { type: 'number', minimum: 1, exclusiveMaximum: 2 }, good: [1, 1.9], bad: [0.9, 2] },
  { schema: { enum: ['a', { b: [1] }] }, good: ['a', { b: [1] }], bad: ['b', { b: [2] }] },
  { schema: { const: 4 }, good: [4], bad: [5, '4'] },
  {
    schema: { type: 'object', properties: { a: { type: 'number' } }, required: ['a'], additionalProperties: false },
    good: [{ a: 1 }],
    bad: [{}, { a: '1' }, { a: 1, b: 2 }, [], JSON.parse('{"a":1,"__proto__":2}')],
  },
  { schema: { additionalProperties: { type: 'number' } }, good: [{ x: 1 }], bad: [{ x: '1' }] },
  { schema: { items: { type: 'number' }, minItems: 1, maxItems: 2 }, good: [[1]], bad: [[], [1, 2, 3], ['1']] },
  { schema: { prefixItems: [{ type: 'string' }], items: false }, good: [['a'], []], bad: [['a', 1], [1]] },
  { schema: { anyOf: [{ type: 'string' }, { type: 'null' }] }, good: ['a', null], bad: [1] },
  { schema: { oneOf: [{ type: 'number' }, { minimum: 5 }] }, good: [1, 'x'], bad: [6] },
  { schema: { allOf: [{ minimum: 1 }, { maximum: 2 }] }, good: [1], bad: [0, 3] },
  { schema: { not: { type: 'null' } }, good: [1], bad: [null] },
  {
    schema: {
      $ref: '#/$defs/tree',
      $defs: { tree: { type: 'object', properties: { left: { $ref: '#/$defs/tree' } } } },
    },
    good: [{}, { left: { left: {} } }],
    bad: [1, { left: { left: 1 } }],
  },
  { schema: { $ref: 'https://example.com/schema' }, good: [1], bad: [] },
];

describe('output schemas of MCP tools', () => {
  for (const { schema, good, bad } of CASES) {
    it(`are enforced: ${JSON.stringify(schema).slice(0, 90)}`, () => {
      for (const value of good) assert.equal(schemaMismatch(schema, value), undefined, JSON.stringify(value));
      for (const value of bad) assert.equal(typeof schemaMismatch(schema, value), 'string', JSON.stringify(value));
    });
  }

  it('are given up as too costly if they are built to never end', () => {
    const $defs: { [key: string]: JsonValue } = { d40: { type: 'null' } };
    for (let i = 0; i < 40; i++)
      $defs[`d${i}`] = { allOf: [{ $ref: `#/$defs/d${i + 1}` }, { $ref: `#/$defs/d${i + 1}` }] };
    const wide: JsonValue = { items: { enum: Array.from({ length: 5_000 }, (_, i) => ({ i })) } };
    const hostile: [JsonValue, JsonValue][] = [
      [{ $ref: '#' }, 1],
      [{ $defs, $ref: '#/$defs/d0' }, null],
      [{ allOf: [{ $ref: '#' }, { $ref: '#' }] }, 1],
      [wide, Array.from({ length: 5_000 }, () => ({ i: -1 }))],
      [
        { anyOf: Array.from({ length: 2000 }, () => ({ additionalProperties: false })) },
        Object.fromEntries(Array.from({ length: 8000 }, (_, n) => [`k${n}`, n])),
      ],
      [{ $ref: `#/${'a'.repeat(60_000)}`, ['a'.repeat(60_000)]: { $ref: `#/${'a'.repeat(60_000)}` } }, 1],
      [{ items: true }, Array.from({ length: 500_000 }, () => 0)],
    ];
    for (const [schema, value] of hostile) {
      const ms = ownMs(() => assert.match(String(schemaMismatch(schema, value)), /too costly/));
      assert.ok(!isSlow(ms, 500), 'it was given up late');
    }
  });

  it('do not apply patterns, whose cost cannot be bounded', () => {
    assert.equal(schemaMismatch({ type: 'string', pattern: '^(a+)+$' }, `${'a'.repeat(100)}b`), undefined);
  });
});
