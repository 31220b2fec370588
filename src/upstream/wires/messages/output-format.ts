import { isObject, type JsonObject, type JsonValue } from '../../../base/json.ts';

/**
 * `output_config` of a Messages request, which constrains an answer to a JSON schema (platform.claude.com, "Structured
 * outputs"). Undefined where the schema is not strict or not supported: then only the instructions describe it.
 */
export function outputConfig(format: JsonObject | undefined): JsonObject | undefined {
  const requested = format?.json_schema;
  const isStrict = isObject(requested) && requested.strict === true;
  const schema = isStrict ? supportedSchema(requested.schema, 0) : undefined;
  return schema && { format: { type: 'json_schema', schema } };
}

const MAX_DEPTH = 32;
const SUPPORTED = ['type', 'title', 'description', 'enum', 'const', 'required', 'additionalProperties'];
/** Keywords that the API refuses and that can be dropped, since the instructions still have them. */
const DROPPED = [
  ...['minimum', 'maximum', 'exclusiveMinimum', 'exclusiveMaximum', 'multipleOf', 'minLength', 'maxLength', 'pattern'],
  ...['format', 'minItems', 'maxItems', 'uniqueItems', 'default', 'examples', '$schema', '$id'],
];
const INNER = ['properties', 'items', 'anyOf'];
const KNOWN = new Set([...SUPPORTED, ...DROPPED, ...INNER]);

/** The schema as the API accepts it; undefined for one with open objects, references or other combinations. */
function supportedSchema(schema: JsonValue | undefined, depth: number): JsonObject | undefined {
  if (!isObject(schema) || depth > MAX_DEPTH || !Object.keys(schema).every((key) => KNOWN.has(key))) return undefined;
  const { properties, items, anyOf, additionalProperties } = schema;
  if (additionalProperties !== false && (schema.type === 'object' || properties !== undefined)) return undefined;
  const supported: JsonObject = Object.fromEntries(Object.entries(schema).filter(([key]) => SUPPORTED.includes(key)));
  if (isObject(properties)) {
    const inner = Object.entries(properties).map(([name, part]) => [name, supportedSchema(part, depth + 1)] as const);
    const known = inner.flatMap(([name, part]): [string, JsonObject][] => (part ? [[name, part]] : []));
    if (known.length < inner.length) return undefined;
    supported.properties = Object.fromEntries(known);
  }
  if (items !== undefined) {
    const inner = supportedSchema(items, depth + 1);
    if (!inner) return undefined;
    supported.items = inner;
  }
  if (Array.isArray(anyOf)) {
    const inner = anyOf.flatMap((part) => supportedSchema(part, depth + 1) ?? []);
    if (inner.length < anyOf.length) return undefined;
    supported.anyOf = inner;
  }
  return supported;
}
