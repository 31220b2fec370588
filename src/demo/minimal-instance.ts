import { isJsonObject, type JsonObject, type JsonValue } from '../base/json.ts';

/** How deep a schema is followed. A recursive schema that requires more has no finite instance anyway. */
const MAX_DEPTH = 12;

/**
 * A small value for a JSON schema: required properties only, empty lists, and `text` for strings. Limits, formats,
 * patterns, `allOf`, `not` and conditions are not followed.
 */
export function minimalInstance(root: JsonObject, text: string): JsonValue {
  const instance = (schema: JsonValue | undefined, depth: number): JsonValue => {
    if (!isJsonObject(schema) || depth > MAX_DEPTH) return null;
    const inner = (part: JsonValue | undefined) => instance(part, depth + 1);
    if (typeof schema.$ref === 'string') return inner(resolveReference(schema.$ref, root));
    const [fixed] = schema.const === undefined ? listOf(schema.enum) : [schema.const];
    if (fixed !== undefined) return fixed;
    const [alternative] = listOf(schema.anyOf ?? schema.oneOf);
    if (alternative !== undefined) return inner(alternative);
    const [type] = Array.isArray(schema.type) ? schema.type : [schema.type];
    if (type === 'object' || schema.properties) {
      const properties = isJsonObject(schema.properties) ? schema.properties : {};
      return Object.fromEntries(listOf(schema.required).map((name) => [name, inner(properties[String(name)] ?? {})]));
    }
    if (type === 'array') return [];
    if (type === 'number' || type === 'integer') return 0;
    if (type === 'boolean') return false;
    return type === 'null' ? null : text;
  };
  return instance(root, 0);
}

/** The schema that a local `#/...` reference names. */
function resolveReference(reference: string, root: JsonObject): JsonValue | undefined {
  const names = reference.split('/').slice(1).map(decodeURIComponent);
  return names.reduce<JsonValue | undefined>((node, name) => (isJsonObject(node) ? node[name] : undefined), root);
}

function listOf(value: JsonValue | undefined): JsonValue[] {
  return Array.isArray(value) ? value : [];
}
