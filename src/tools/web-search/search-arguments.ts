import { z } from 'zod';
import type { JsonObject } from '../../base/json.ts';
import { ToolError } from '../tool.ts';

/** More queries than this in one call are left out, and the model is told. */
export const MAX_QUERIES = 8;
const MAX_QUERY_LENGTH = 400;

/** JSON Schema of the arguments of `web_search` (contract section 3.3). */
export const SEARCH_PARAMETERS: JsonObject = {
  type: 'object',
  properties: {
    queries: {
      type: 'array',
      items: { type: 'string' },
      minItems: 1,
      maxItems: MAX_QUERIES,
      description: 'Search queries, each a few key words. Use different wordings or aspects, not variations of one.',
    },
  },
  required: ['queries'],
  additionalProperties: false,
};

const text = z.string();
const list = z.union([z.array(text), text.transform((one) => [one])]);
/** Models also send one `query`, or `queries` as one string. */
const given = z.object({ queries: list.optional(), query: list.optional(), q: list.optional() });

/**
 * The distinct queries of a call.
 * @throws ToolError `invalid_arguments`.
 */
export function parseQueries(args: JsonObject): { queries: string[]; dropped: number } {
  const parsed = given.safeParse(args);
  const fields = parsed.success
    ? [parsed.data.queries, parsed.data.query, parsed.data.q].flatMap((some) => some ?? [])
    : [];
  const cleaned = fields.map((query) => query.replace(/\s+/g, ' ').trim().slice(0, MAX_QUERY_LENGTH));
  const unique = [...new Set(cleaned.filter((query) => query !== ''))];
  if (unique.length === 0) {
    throw new ToolError(
      'invalid_arguments',
      'web_search needs {"queries": ["..."]}: an array with at least one query.',
    );
  }
  return { queries: unique.slice(0, MAX_QUERIES), dropped: Math.max(0, unique.length - MAX_QUERIES) };
}
