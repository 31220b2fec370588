import { z } from 'zod';

/** What files are chosen by: their attributes, as OpenAI's filters have it (docs/vector-stores.md, "Search"). */

export const attributeValue = z.union([z.string().max(512), z.number(), z.boolean()]);
export type Attributes = Record<string, z.output<typeof attributeValue>>;

export type Filter =
  | { type: 'eq' | 'ne' | 'gt' | 'gte' | 'lt' | 'lte'; key: string; value: string | number | boolean }
  | { type: 'in' | 'nin'; key: string; value: (string | number)[] }
  | { type: 'and' | 'or'; filters: Filter[] };

/** How deep filters may lie in each other, and how many values `in` may name. */
const DEEPEST = 8;
const MOST_VALUES = 1000;
const MOST_FILTERS = 100;
/** Values, names and lists that a filter has in all: each file of a vector store is held against it. */
const MOST_PARTS = 2000;

const key = z.string().min(1).max(64);
const comparison = z.strictObject({
  type: z.enum(['eq', 'ne', 'gt', 'gte', 'lt', 'lte']),
  key,
  value: z.union([z.string(), z.number(), z.boolean()], 'expected text, a number or a boolean'),
});
const choice = z.strictObject({
  type: z.enum(['in', 'nin']),
  key,
  value: z.array(z.union([z.string(), z.number()], 'expected text or a number')).max(MOST_VALUES),
});

/** Filters that lie at most so deep in each other. */
function filterOf(depth: number): z.ZodType<Filter> {
  if (depth === 0) return z.discriminatedUnion('type', [comparison, choice]);
  const compound = z.strictObject({
    type: z.enum(['and', 'or']),
    filters: z.array(filterOf(depth - 1)).max(MOST_FILTERS),
  });
  return z.discriminatedUnion('type', [comparison, choice, compound]);
}

export const filter = z
  .unknown()
  .refine((value) => partsOf(value) <= MOST_PARTS, {
    message: `may have ${MOST_PARTS} values, names and lists in all`,
    abort: true,
  })
  .pipe(filterOf(DEEPEST));

/** How many parts a value has, counted a little beyond what is allowed. */
function partsOf(value: unknown): number {
  const open = [value];
  let parts = 0;
  for (let one = open.pop(); parts <= MOST_PARTS && one !== undefined; one = open.pop()) {
    parts += 1;
    if (typeof one === 'object' && one !== null)
      for (const inner of Object.values(one).slice(0, MOST_PARTS)) open.push(inner ?? 0);
  }
  return parts;
}

/**
 * Says of attributes whether they pass a filter. What is not there passes `ne` and `nin` alone; values of two kinds are
 * not equal.
 */
export function testOf(one: Filter): (attributes: Attributes) => boolean {
  switch (one.type) {
    case 'and':
    case 'or': {
      const tests = one.filters.map(testOf);
      const isAnd = one.type === 'and';
      return (attributes) => (isAnd ? tests.every((test) => test(attributes)) : tests.some((test) => test(attributes)));
    }
    case 'in':
    case 'nin': {
      const values = new Set<Attributes[string] | undefined>(one.value);
      return (attributes) => values.has(attributes[one.key]) === (one.type === 'in');
    }
    default:
      return (attributes) => compares(one.type, attributes[one.key], one.value);
  }
}

function compares(
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
