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

const key = z.string().min(1).max(64);
const comparison = z.strictObject({
  type: z.enum(['eq', 'ne', 'gt', 'gte', 'lt', 'lte']),
  key,
  value: z.union([z.string(), z.number(), z.boolean()]),
});
const choice = z.strictObject({
  type: z.enum(['in', 'nin']),
  key,
  value: z.array(z.union([z.string(), z.number()])).max(MOST_VALUES),
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

export const filter = filterOf(DEEPEST);

/** Whether attributes pass a filter. What is not there passes `ne` and `nin` alone; values of two kinds are not equal. */
export function passes(attributes: Attributes, one: Filter): boolean {
  switch (one.type) {
    case 'and':
      return one.filters.every((part) => passes(attributes, part));
    case 'or':
      return one.filters.some((part) => passes(attributes, part));
    case 'in':
    case 'nin': {
      const value = attributes[one.key];
      return one.value.some((candidate) => candidate === value) === (one.type === 'in');
    }
    default:
      return compares(one.type, attributes[one.key], one.value);
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
