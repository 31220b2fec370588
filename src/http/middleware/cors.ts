import type { IncomingHttpHeaders, ServerResponse } from 'node:http';
import type { Request } from 'express';

/** What scripts of other origins may read besides what every browser shows them. */
const EXPOSED = [
  'x-request-id',
  'x-upstream-request-id',
  'x-ratelimit-limit-requests',
  'x-ratelimit-remaining-requests',
  'x-ratelimit-reset-requests',
  'retry-after',
  'retry-after-ms',
  'x-should-retry',
  'openai-poll-after-ms',
  'x-ignored-parameters',
  'idempotent-replayed',
  'x-cache',
  'content-disposition',
].join(', ');

const METHODS = 'GET, HEAD, POST, DELETE';
/** How long a browser may remember the answer to a preflight, in seconds. */
const MAX_AGE = '600';
const HEADER_NAMES = /^[\w!#$%&'*+.^`|~, -]{1,4096}$/;

/**
 * Lets pages of the configured origins use the gateway (docs/api.md, "In general", CORS). True where the request was a
 * preflight, which is answered here: browsers send none of the caller's credentials with it.
 */
export function allowOrigin(req: Request, res: ServerResponse, allowed: readonly string[]): boolean {
  const { origin } = req.headers;
  if (allowed.length === 0) return false;
  const all = allowed.includes('*');
  // Caches must not give the answer for one origin to another.
  if (!all) res.setHeader('vary', 'Origin');
  if (origin === undefined || (!all && !allowed.includes(origin))) return false;
  res.setHeader('access-control-allow-origin', all ? '*' : origin);
  if (req.method !== 'OPTIONS' || req.headers['access-control-request-method'] === undefined) {
    res.setHeader('access-control-expose-headers', EXPOSED);
    return false;
  }
  answerPreflight(req.headers, res);
  return true;
}

function answerPreflight(headers: IncomingHttpHeaders, res: ServerResponse): void {
  const wanted = headers['access-control-request-headers'];
  res.setHeader('access-control-allow-methods', METHODS);
  if (wanted !== undefined && HEADER_NAMES.test(wanted)) res.setHeader('access-control-allow-headers', wanted);
  if (headers['access-control-request-private-network'] === 'true')
    res.setHeader('access-control-allow-private-network', 'true');
  res.setHeader('access-control-max-age', MAX_AGE);
  res.writeHead(204).end();
}
