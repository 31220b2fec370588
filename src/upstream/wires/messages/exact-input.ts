import { isObject, type JsonObject, type JsonValue } from '../../../base/json.ts';
import { parseLimitedJson } from '../../../protocol/requests/json-spans.ts';

declare global {
  interface JSON {
    rawJSON(text: string): JsonValue;
    parse(
      text: string,
      reviver: (name: string, value: JsonValue, context: { source?: string }) => JsonValue,
    ): JsonValue;
  }
}

/** What a number needs so that JavaScript may not hold it: sixteen digits, or an exponent. */
const LONG_NUMBER = /\d(?:\.?\d){15}|\d[eE]/;

/**
 * The arguments of a call as an object, whose numbers are written again as they are in `text`: ids often have more digits
 * than JavaScript's numbers. Undefined for arguments that are no object.
 */
export function exactInput(text: string): JsonObject | undefined {
  const input = parseLimitedJson(text);
  if (!isObject(input)) return undefined;
  if (!LONG_NUMBER.test(text)) return input;
  const exact = JSON.parse(text, (_name, value, { source }) =>
    typeof value === 'number' && source !== undefined && source !== String(value) ? JSON.rawJSON(source) : value,
  );
  return isObject(exact) ? exact : undefined;
}
