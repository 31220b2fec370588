/** Anything that JSON can hold. */
export type JsonValue = string | number | boolean | null | JsonValue[] | { [key: string]: JsonValue };
export type JsonObject = { [key: string]: JsonValue };

/** Whether `value` is a JSON object (not null, not an array). */
export function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

/** A value of somebody's JSON as text; '' for objects and lists. (`String` throws for `{"toString": 1}`.) */
export function scalarText(value: unknown): string {
  return typeof value === 'object' && value !== null ? '' : String(value);
}

/** Whether a value that was parsed from JSON is an object. */
export function isJsonObject(value: unknown): value is JsonObject {
  return isObject(value);
}

/** Parsed JSON, or undefined if `text` is not JSON. */
export function parseJson(text: string): JsonValue | undefined {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}
