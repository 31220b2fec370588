import { isObject, type JsonObject, type JsonValue } from '../../../base/json.ts';

/**
 * `output_config` of a Messages request, which holds an answer to a JSON schema (platform.claude.com, "Structured outputs").
 * Undefined where the client's schema is not strict, or has what that API refuses: then the instructions alone say it.
 */
export function outputConfig(format: JsonObject | undefined): JsonObject | undefined {
  const asked = format?.json_schema;
  const schema = isObject(asked) && asked.strict === true ? takenOf(asked.schema, 0) : undefined;
  return schema && { format: { type: 'json_schema', schema } };
}

const MAX_DEPTH = 32;
const TAKEN = ['type', 'title', 'description', 'enum', 'const', 'required', 'additionalProperties'];
/** What the API refuses and can be left out: the instructions say it. */
const LEFT_OUT = [
  ...['minimum', 'maximum', 'exclusiveMinimum', 'exclusiveMaximum', 'multipleOf', 'minLength', 'maxLength', 'pattern'],
  ...['format', 'minItems', 'maxItems', 'uniqueItems', 'default', 'examples', '$schema', '$id'],
];
const INNER = ['properties', 'items', 'anyOf'];
const KNOWN = new Set([...TAKEN, ...LEFT_OUT, ...INNER]);

/** The schema as the API takes it; undefined for one with open objects, references or other combinations. */
function takenOf(schema: JsonValue | undefined, depth: number): JsonObject | undefined {
  if (!isObject(schema) || depth > MAX_DEPTH || !Object.keys(schema).every((key) => KNOWN.has(key))) return undefined;
  const { properties, items, anyOf, additionalProperties } = schema;
  if (additionalProperties !== false && (schema.type === 'object' || properties !== undefined)) return undefined;
  const taken: JsonObject = Object.fromEntries(Object.entries(schema).filter(([key]) => TAKEN.includes(key)));
  if (isObject(properties)) {
    const inner = Object.entries(properties).map(([name, part]) => [name, takenOf(part, depth + 1)] as const);
    const known = inner.flatMap(([name, part]): [string, JsonObject][] => (part ? [[name, part]] : []));
    if (known.length < inner.length) return undefined;
    taken.properties = Object.fromEntries(known);
  }
  if (items !== undefined) {
    const inner = takenOf(items, depth + 1);
    if (!inner) return undefined;
    taken.items = inner;
  }
  if (Array.isArray(anyOf)) {
    const inner = anyOf.flatMap((part) => takenOf(part, depth + 1) ?? []);
    if (inner.length < anyOf.length) return undefined;
    taken.anyOf = inner;
  }
  return taken;
}
