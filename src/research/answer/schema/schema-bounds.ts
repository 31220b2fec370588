/** The largest schema, in UTF-16 code units of its JSON, approximately: it is not serialised for this. */
const MAX_SIZE = 100_000;
/** Objects, arrays and other values in a schema. */
const MAX_NODES = 10_000;
/** Nested objects and arrays. */
const MAX_DEPTH = 64;

/** Why a schema is too large to compile, or undefined. The check stops at the limits, however large the schema is. */
export function schemaExcess(schema: Record<string, unknown>): string | undefined {
  let nodes = 0;
  let size = 0;
  const excess = (value: unknown, depth: number): string | undefined => {
    nodes++;
    size += typeof value === 'string' ? value.length + 3 : 3;
    if (nodes > MAX_NODES) return `must have at most ${MAX_NODES} values`;
    if (size > MAX_SIZE) return `must be at most ${MAX_SIZE} characters as JSON`;
    if (typeof value !== 'object' || value === null) return undefined;
    if (depth > MAX_DEPTH) return `must be nested at most ${MAX_DEPTH} levels deep`;
    for (const key of Array.isArray(value) ? value.keys() : Object.keys(value)) {
      if (typeof key === 'string') size += key.length + 3;
      const found = excess(Reflect.get(value, key), depth + 1);
      if (found !== undefined) return found;
    }
    return undefined;
  };
  return excess(schema, 1);
}
