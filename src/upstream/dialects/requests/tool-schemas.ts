import { isObject, type JsonObject, type JsonValue } from '../../../base/json.ts';
import type { Trait } from './trait.ts';

interface ToolSchemas {
  /** Whether tool schemas are reduced to the keywords that every provider knows. */
  plainSchemas: boolean;
}

const REFUSED = [
  /\$schema|additionalProperties|exclusiveM|oneOf|allOf|patternProperties|\$ref|\$defs/,
  /(?:invalid|unsupported|unknown).{0,60}(?:json ?schema|function parameters|tool(?:s|_| )?(?:schema|parameters|\[))/i,
];

/** For providers that refuse schemas with unknown keywords (Gemini: `$schema`, `additionalProperties`). */
export const toolSchemas: Trait<ToolSchemas> = {
  start: () => ({ plainSchemas: false }),
  learn({ text, body }, traits) {
    if (traits.plainSchemas || !('tools' in body) || !REFUSED.some((refusal) => refusal.test(text))) return false;
    traits.plainSchemas = true;
    return true;
  },
  shape(request, { plainSchemas }) {
    if (!plainSchemas || !request.tools) return request;
    return { ...request, tools: request.tools.map((tool) => ({ ...tool, parameters: plainSchema(tool.parameters) })) };
  },
};

/** Keywords of JSON Schema that every provider knows. */
const KNOWN = new Set(
  (
    'type description properties required items enum anyOf nullable title default ' +
    'minimum maximum minItems maxItems format'
  ).split(' '),
);

/** A schema reduced to the known keywords. */
function plainSchema(schema: JsonObject): JsonObject {
  const plain: JsonObject = {};
  for (const [key, value] of Object.entries(schema)) {
    if (key === 'const' && value !== null) plain.enum = [value];
    else if (key === 'oneOf' && Array.isArray(value)) plain.anyOf = value.map(plainValue);
    else if (key === 'properties' && isObject(value)) {
      plain.properties = Object.fromEntries(Object.entries(value).map(([name, inner]) => [name, plainValue(inner)]));
    } else if (KNOWN.has(key)) plain[key] = key === 'items' || key === 'anyOf' ? plainValue(value) : value;
  }
  return plain;
}

function plainValue(value: JsonValue): JsonValue {
  if (Array.isArray(value)) return value.map(plainValue);
  return isObject(value) ? plainSchema(value) : value;
}
