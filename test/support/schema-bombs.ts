import type { JsonObject } from '../../src/base/json.ts';

/** A JSON Schema that is crafted to be expensive to compile or to apply. */
export interface SchemaBomb {
  name: string;
  schema: JsonObject;
}

const times = <T>(count: number, make: (n: number) => T): T[] => Array.from({ length: count }, (_, n) => make(n));
const record = <T>(count: number, make: (n: number) => T) =>
  Object.fromEntries(times(count, (n) => [`p${n}`, make(n)]));

function nested(depth: number, around: (inner: JsonObject) => JsonObject): JsonObject {
  let schema: JsonObject = { const: 1 };
  for (let level = 0; level < depth; level++) schema = around(schema);
  return schema;
}

/** Spellings of the reference `#/$defs/a` that parsers treat as equal. */
function spellings(count: number): string[] {
  const text = '/$defs/aaaaaaaa';
  return times(count, (n) =>
    [...text].reduce((written, char, at) => {
      const encoded = (n >> at) & 1 && char !== '/';
      return written + (encoded ? `%${char.charCodeAt(0).toString(16)}` : char);
    }, '#'),
  );
}

/** Schemas within the limits of size, nodes and depth, except for the last ones. */
export function schemaBombs(): SchemaBomb[] {
  const big = { type: 'object', properties: record(300, () => ({ type: 'string' })) };
  const wide = { properties: record(100, (n) => ({ enum: times(5, (m) => ({ a: n, b: [m, { c: [m] }] })) })) };
  return [
    {
      name: 'one large definition, used over and over',
      schema: { $defs: { a: big }, allOf: times(400, () => ({ $ref: '#/$defs/a' })) },
    },
    {
      name: 'one large definition under many spellings of its name',
      schema: { $defs: { aaaaaaaa: big }, allOf: spellings(1500).map(($ref) => ({ $ref })) },
    },
    {
      name: 'definitions that use each other twice',
      schema: {
        $defs: record(60, (n) => ({
          properties: { a: { $ref: `#/$defs/p${n + 1}` }, b: { $ref: `#/$defs/p${n + 1}` } },
        })),
        $ref: '#/$defs/p0',
      } as JsonObject,
    },
    {
      name: 'definitions that all use all others',
      schema: {
        $defs: record(60, () => ({ allOf: times(60, (m) => ({ $ref: `#/$defs/p${m}` })) })),
        $ref: '#/$defs/p0',
      },
    },
    {
      name: 'properties that were not evaluated, under many alternatives',
      schema: {
        anyOf: times(200, (n) => ({ properties: record(8, (m) => ({ const: n * m })) })),
        unevaluatedProperties: false,
      },
    },
    {
      name: 'nested negations of alternatives',
      schema: nested(20, (inner) => ({ oneOf: [{ not: inner }, true] })),
    },
    { name: 'large constants', schema: { allOf: times(4, () => wide) } },
    {
      name: 'a dynamic reference to itself',
      schema: { $dynamicAnchor: 'a', allOf: times(900, () => ({ $dynamicRef: '#a' })) },
    },
    {
      name: 'many patterns',
      schema: { patternProperties: Object.fromEntries(times(3000, (n) => [`^(a+)+${n}$`, true])) },
    },
    {
      name: 'one pattern of eighty thousand characters',
      schema: { pattern: '(a|'.repeat(16_000) + ')'.repeat(16_000) },
    },
    { name: 'a pattern that counts', schema: { pattern: '((a{1,1000}){1,1000}){1,1000}' } },
    { name: 'formats', schema: { allOf: times(4000, () => ({ format: 'email' })) } },
    { name: 'nothing that is a schema, thousands of times', schema: { properties: record(4000, () => 7) } },
    { name: 'many values', schema: { enum: times(9000, (n) => n) } },
    { name: 'too many values', schema: { enum: times(200_000, (n) => n) } },
    { name: 'too much text', schema: { description: 'x'.repeat(5_000_000) } },
    { name: 'names without end', schema: { properties: record(100_000, () => true) } },
    {
      name: 'depth',
      schema: nested(200, (inner) => ({ items: inner })),
    },
  ];
}
