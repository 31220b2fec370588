import type { IncomingHttpHeaders } from 'node:http';
import { fieldError } from '../base/errors.ts';

/** The maximum length of a tag, in characters. */
const MAX_LENGTH = 64;
const TAG = /^[\w .:@/-]{1,64}$/;

/**
 * The tag that a request is counted under: the header `x-tag`, else `metadata.tag` (docs/keys.md, "Usage"). Metadata
 * belongs to the client, so an invalid tag there is ignored.
 * @throws GatewayError `invalid_parameter` if the header is not a valid tag.
 */
export function tagOf(headers: IncomingHttpHeaders, metadata?: unknown): string | undefined {
  const header = headers['x-tag'];
  if (header !== undefined) {
    if (typeof header === 'string' && TAG.test(header)) return header;
    throw fieldError('invalid_parameter', 'x-tag', `must be 1 to ${MAX_LENGTH} letters, digits, spaces or . _ : @ / -`);
  }
  const tag = typeof metadata === 'object' && metadata !== null && 'tag' in metadata ? metadata.tag : undefined;
  return typeof tag === 'string' && TAG.test(tag) ? tag : undefined;
}
