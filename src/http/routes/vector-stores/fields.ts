import type { z } from 'zod';
import { requireExactNumbers } from '../../../protocol/requests/exact-numbers.ts';
import { parseValue } from '../../../protocol/requests/parse.ts';
import type { Call } from '../../endpoint.ts';
import { readJson } from '../../middleware/body.ts';
import { ignoredHeader } from '../../submission/ignored.ts';

/** Fields whose numbers are stored or compared. */
const NUMERIC_FIELDS = ['attributes', 'files', 'filters', 'metadata'];
/** Fields without effect: files are split by pages and headings, and queries are used unchanged. */
const IGNORED_FIELDS = ['chunking_strategy', 'rewrite_query'];

/**
 * Reads the body of a request about vector stores. Returns it with the header that lists ignored fields.
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
