import type { z } from 'zod';
import { requireExactNumbers } from '../../../protocol/requests/exact-numbers.ts';
import { parseValue } from '../../../protocol/requests/parse.ts';
import type { Call } from '../../endpoint.ts';
import { readJson } from '../../middleware/body.ts';
import { ignoredHeader } from '../../submission/ignored.ts';

/** Fields with numbers that are kept or compared. */
const NUMERIC_FIELDS = ['attributes', 'files', 'filters', 'metadata'];
/** What is accepted and changes nothing: passages are cut by pages and headings, queries looked up as they are. */
const IGNORED_FIELDS = ['chunking_strategy', 'rewrite_query'];

/**
 * The body of a request about vector stores, and the header that says what of it is not acted on.
 * @throws GatewayError `invalid_json`, `missing_parameter`, `invalid_parameter`.
 */
export async function readFields<T extends z.ZodObject>(call: Call, schema: T) {
  const { raw, json } = await readJson(call);
  const value = parseValue(schema, json);
  requireExactNumbers(raw, NUMERIC_FIELDS);
  const ignored = Object.keys(json).filter(
    (name) => json[name] !== null && (!Object.hasOwn(schema.shape, name) || IGNORED_FIELDS.includes(name)),
  );
  return { value, headers: ignoredHeader(ignored, json) };
}
