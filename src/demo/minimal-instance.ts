import { isObject, type JsonObject, type JsonValue } from '../base/json.ts';

/** How deep a schema is followed. A recursive schema that requires more has no finite instance anyway. */
const MAX_DEPTH = 12;
const MAX_ITEMS = 100;
const MAX_LENGTH = 10_000;

const FORMATS: Readonly<Record<string, string>> = {
  date: '2000-01-01',
  'date-time': '2000-01-01T00:00:00Z',
  email: 'demo@example.com',
  uri: 'https://example.com/',
};

/**
 * A small value that fits a JSON schema: required properties only, and the smallest values that limits allow. Free strings
 * are `text`. Patterns, `allOf`, `not` and conditions are not supported.
 */
export function minimalInstance(root: JsonObject, { text }: { text: string }): JsonValue {
  const instance = (schema: JsonValue | undefined, depth: number): JsonValue => {
    if (!isObject(schema) || depth > MAX_DEPTH) return null;
    const inner = (part: JsonValue | undefined) => instance(part, depth + 1);
    if (typeof schema.$ref === 'string') return inner(resolveReference(schema.$ref, root));
    const [fixed] = schema.const === undefined ? listOf(schema.enum) : [schema.const];
    if (fixed !== undefined) return fixed;
    const [alternative] = listOf(schema.anyOf ?? schema.oneOf);
    if (alternative !== undefined) return inner(alternative);
    const [type] = Array.isArray(schema.type) ? schema.type : [schema.type];
    if (type === 'object' || isObject(schema.properties)) {
      const properties = isObject(schema.properties) ? schema.properties : {};
      return Object.fromEntries(listOf(schema.required).map((name) => [name, inner(properties[String(name)] ?? {})]));
    }
    if (type === 'array') {
      return Array.from({ length: Math.min(Number(schema.minItems ?? 0), MAX_ITEMS) }, () => inner(schema.items));
    }
    if (type === 'number' || type === 'integer') return minNumber(schema, type === 'integer' ? 1 : 0.5);
    if (type === 'string' || type === undefined) return minText(schema, text);
    return type === 'boolean' ? false : null;
  };
  return instance(root, 0);
}

function minText({ format, minLength, maxLength }: JsonObject, text: string): string {
  const known = FORMATS[String(format)];
  return (
    known ?? text.slice(0, Number(maxLength ?? MAX_LENGTH)).padEnd(Math.min(Number(minLength ?? 0), MAX_LENGTH), '.')
  );
}

/** The number closest to a limit, or zero without one. */
function minNumber(schema: JsonObject, step: number): number {
  const { minimum, exclusiveMinimum, maximum, exclusiveMaximum } = schema;
  if (typeof minimum === 'number') return Math.ceil(minimum / step) * step;
  if (typeof exclusiveMinimum === 'number') return Math.floor(exclusiveMinimum) + step;
  if (typeof maximum === 'number') return Math.min(0, Math.floor(maximum));
  return typeof exclusiveMaximum === 'number' ? Math.min(0, Math.ceil(exclusiveMaximum) - step) : 0;
}

/** The schema that a local `#/...` reference names. */
function resolveReference(reference: string, root: JsonObject): JsonValue | undefined {
  const names = reference.split('/').slice(1).map(decodeURIComponent);
  return names.reduce<JsonValue | undefined>((node, name) => (isObject(node) ? node[name] : undefined), root);
}

function listOf(value: JsonValue | undefined): JsonValue[] {
  return Array.isArray(value) ? value : [];
}
