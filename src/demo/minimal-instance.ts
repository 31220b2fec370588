import { isObject, type JsonValue } from '../base/json.ts';

/** How deep a schema is followed; a recursive one that demands more has no finite instance anyway. */
const MAX_DEPTH = 12;

const FORMATS: Readonly<Record<string, string>> = {
  date: '2000-01-01',
  'date-time': '2000-01-01T00:00:00Z',
  time: '00:00:00Z',
  email: 'demo@example.com',
  uri: 'https://example.com/',
  uuid: '00000000-0000-4000-8000-000000000000',
};

/**
 * A small value that fits a JSON schema: required properties only, the least that bounds allow. Free strings hold
 * `text`. Patterns, `not` and conditions are beyond the demo model.
 */
export function minimalInstance(schema: unknown, options: { text: string }): JsonValue {
  return instance(schema, { root: schema, text: options.text, depth: 0 });
}

interface Context {
  root: unknown;
  text: string;
  depth: number;
}

function instance(schema: unknown, context: Context): JsonValue {
  if (!isObject(schema) || context.depth > MAX_DEPTH) return null;
  const inner = { ...context, depth: context.depth + 1 };
  if (typeof schema.$ref === 'string') return instance(resolveReference(schema.$ref, context.root), inner);
  if (schema.const !== undefined) return asJson(schema.const);
  if (Array.isArray(schema.enum) && schema.enum.length > 0) return asJson(schema.enum[0]);
  const alternatives = schema.anyOf ?? schema.oneOf;
  if (Array.isArray(alternatives)) return instance(alternatives[0], inner);
  if (Array.isArray(schema.allOf)) return instance(merged([schema, ...schema.allOf]), inner);
  return ofType(schema, inner);
}

function ofType(schema: Record<string, unknown>, context: Context): JsonValue {
  const type = Array.isArray(schema.type) ? schema.type[0] : schema.type;
  if (type === 'object' || (type === undefined && isObject(schema.properties))) return objectInstance(schema, context);
  if (type === 'array') {
    const length = Math.min(typeof schema.minItems === 'number' ? schema.minItems : 0, 100);
    return Array.from({ length }, () => instance(schema.items, context));
  }
  if (type === 'string') return stringInstance(schema, context.text);
  if (type === 'number' || type === 'integer') return numberInstance(schema, type);
  if (type === 'boolean') return false;
  return type === undefined ? context.text : null;
}

function objectInstance(schema: Record<string, unknown>, context: Context): JsonValue {
  const properties = isObject(schema.properties) ? schema.properties : {};
  const required = Array.isArray(schema.required) ? schema.required.map(String) : [];
  return Object.fromEntries(required.map((name) => [name, instance(properties[name] ?? {}, context)]));
}

function stringInstance(schema: Record<string, unknown>, text: string): string {
  const format = typeof schema.format === 'string' ? FORMATS[schema.format] : undefined;
  if (format !== undefined) return format;
  const least = typeof schema.minLength === 'number' ? Math.min(schema.minLength, 10_000) : 0;
  const most = typeof schema.maxLength === 'number' ? schema.maxLength : Number.POSITIVE_INFINITY;
  return text.slice(0, most).padEnd(least, '.');
}

function numberInstance(schema: Record<string, unknown>, type: 'number' | 'integer'): number {
  const step = type === 'integer' ? 1 : 0.5;
  if (typeof schema.minimum === 'number') return type === 'integer' ? Math.ceil(schema.minimum) : schema.minimum;
  if (typeof schema.exclusiveMinimum === 'number') return Math.floor(schema.exclusiveMinimum) + step;
  if (typeof schema.maximum === 'number' && schema.maximum < 0) return Math.floor(schema.maximum);
  return typeof schema.exclusiveMaximum === 'number' && schema.exclusiveMaximum <= 0
    ? Math.ceil(schema.exclusiveMaximum) - step
    : 0;
}

/** The schema that a local `#/...` reference names. */
function resolveReference(reference: string, root: unknown): unknown {
  if (!reference.startsWith('#')) return undefined;
  const parts = reference
    .slice(1)
    .split('/')
    .filter((part) => part !== '');
  return parts.reduce<unknown>((node, part) => {
    const name = decodeURIComponent(part).replaceAll('~1', '/').replaceAll('~0', '~');
    return isObject(node) ? node[name] : undefined;
  }, root);
}

/** Object schemas of an `allOf`, joined. */
function merged(schemas: readonly unknown[]): Record<string, unknown> {
  const joined: Record<string, unknown> = {};
  for (const schema of schemas) {
    if (!isObject(schema)) continue;
    const { allOf: _, ...own } = schema;
    const properties = { ...asObject(joined.properties), ...asObject(own.properties) };
    const required = [...asList(joined.required), ...asList(own.required)];
    Object.assign(joined, own, { properties, required });
  }
  return joined;
}

function asObject(value: unknown): Record<string, unknown> {
  return isObject(value) ? value : {};
}

function asList(value: unknown): unknown[] {
  return Array.isArray(value) ? value : [];
}

/** Schemas come from JSON, so what stands in them is JSON. */
function asJson(value: unknown): JsonValue {
  return JSON.parse(JSON.stringify(value));
}
