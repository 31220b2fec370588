/** The largest schema, in UTF-16 code units as JSON; about, because it is never written as such. */
const MAX_SIZE = 100_000;
/** Objects, lists and other values in a schema. */
const MAX_NODES = 10_000;
/** Objects and lists within each other. */
const MAX_DEPTH = 64;

/** Why a schema is too large to look at, or undefined. Costs no more than the bounds, however large the schema is. */
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
