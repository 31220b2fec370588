import type { IncomingHttpHeaders } from 'node:http';
import { fieldError } from '../base/errors.ts';

/** Characters of a tag. */
const LONGEST = 64;
const TAG = /^[\w .:@/-]{1,64}$/;

/**
 * The tag that a request is counted under: the header `x-tag`, else `metadata.tag` (docs/keys.md, "Usage"). Metadata is the
 * client's own: what is no tag there counts as none.
 * @throws GatewayError `invalid_parameter` for a header that is no tag.
 */
export function tagOf(headers: IncomingHttpHeaders, metadata?: unknown): string | undefined {
  const named = headers['x-tag'];
  if (named !== undefined) {
    if (typeof named === 'string' && TAG.test(named)) return named;
    throw fieldError('invalid_parameter', 'x-tag', `must be 1 to ${LONGEST} letters, digits, spaces or . _ : @ / -`);
  }
  const tag = typeof metadata === 'object' && metadata !== null && 'tag' in metadata ? metadata.tag : undefined;
  return typeof tag === 'string' && TAG.test(tag) ? tag : undefined;
}
