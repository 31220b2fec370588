import { z } from 'zod';

/** Filters on the attributes of files, as in OpenAI's API (docs/vector-stores.md, "Search"). */

export const attributeValue = z.union([z.string().max(512), z.number(), z.boolean()]);
export type Attributes = Record<string, z.output<typeof attributeValue>>;

export type Filter =
  | { type: 'eq' | 'ne' | 'gt' | 'gte' | 'lt' | 'lte'; key: string; value: string | number | boolean }
  | { type: 'in' | 'nin'; key: string; value: (string | number)[] }
  | { type: 'and' | 'or'; filters: Filter[] };

/** Deepest nesting of filters, and the most values of `in`. */
const MAX_DEPTH = 8;
const MAX_VALUES = 1000;
const MAX_FILTERS = 100;
/** Most values, names and lists of a filter in total, because each file of a vector store is tested against it. */
const MAX_PARTS = 2000;

const key = z.string().min(1).max(64);
const comparison = z.strictObject({
  type: z.enum(['eq', 'ne', 'gt', 'gte', 'lt', 'lte']),
  key,
  value: z.union([z.string(), z.number(), z.boolean()], 'expected text, a number or a boolean'),
});
const choice = z.strictObject({
  type: z.enum(['in', 'nin']),
  key,
  value: z.array(z.union([z.string(), z.number()], 'expected text or a number')).max(MAX_VALUES),
});

/** The schema of filters that are nested at most `depth` deep. */
function nestedFilter(depth: number): z.ZodType<Filter> {
  if (depth === 0) return z.discriminatedUnion('type', [comparison, choice]);
  const compound = z.strictObject({
    type: z.enum(['and', 'or']),
    filters: z.array(nestedFilter(depth - 1)).max(MAX_FILTERS),
  });
  return z.discriminatedUnion('type', [comparison, choice, compound]);
}

export const filterSchema = z
  .unknown()
  .refine((value) => countParts(value) <= MAX_PARTS, {
    message: `may have ${MAX_PARTS} values, names and lists in all`,
    abort: true,
  })
  .pipe(nestedFilter(MAX_DEPTH));

/** Counts the parts of a value, and stops soon after the limit. */
function countParts(value: unknown): number {
  const open = [value];
  let parts = 0;
  for (let current = open.pop(); parts <= MAX_PARTS && current !== undefined; current = open.pop()) {
    parts += 1;
    if (typeof current === 'object' && current !== null)
      for (const inner of Object.values(current).slice(0, MAX_PARTS)) open.push(inner ?? 0);
  }
  return parts;
}

/** Compiles a filter. A missing attribute passes only `ne` and `nin`; values of different types are not equal. */
export function compileFilter(node: Filter): (attributes: Attributes) => boolean {
  switch (node.type) {
    case 'and':
    case 'or': {
      const tests = node.filters.map(compileFilter);
      const isAnd = node.type === 'and';
      return (attributes) => (isAnd ? tests.every((test) => test(attributes)) : tests.some((test) => test(attributes)));
    }
    case 'in':
    case 'nin': {
      const values = new Set<Attributes[string] | undefined>(node.value);
      return (attributes) => values.has(attributes[node.key]) === (node.type === 'in');
    }
    default:
      return (attributes) => passesComparison(node.type, attributes[node.key], node.value);
  }
}

function passesComparison(
  type: 'eq' | 'ne' | 'gt' | 'gte' | 'lt' | 'lte',
  found: Attributes[string] | undefined,
  value: string | number | boolean,
): boolean {
  if (type === 'eq' || type === 'ne') return (found === value) === (type === 'eq');
  if (typeof found !== typeof value || typeof found === 'boolean' || found === undefined) return false;
  if (type === 'gt') return found > value;
  if (type === 'gte') return found >= value;
  return type === 'lt' ? found < value : found <= value;
}
