import type { IncomingHttpHeaders, ServerResponse } from 'node:http';
import type { Request } from 'express';

/** Headers that scripts of other origins may read besides those that browsers always expose. */
const EXPOSED_HEADERS = [
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

const METHODS = 'GET, HEAD, POST, PUT, PATCH, DELETE';
/** How long a browser may remember the answer to a preflight, in seconds. */
const MAX_AGE = '600';
const HEADER_NAMES = /^[\w!#$%&'*+.^`|~, -]{1,4096}$/;

/**
 * Lets pages of the configured origins use the gateway (docs/api.md, "In general", CORS). Returns true if the request was
 * a preflight, which is answered here because browsers send no credentials with it.
 */
export function allowOrigin(req: Request, res: ServerResponse, allowed: readonly string[]): boolean {
  const { origin } = req.headers;
  if (allowed.length === 0) return false;
  const all = allowed.includes('*');
  // Caches must not serve the answer for one origin to another.
  if (!all) res.setHeader('vary', 'Origin');
  if (origin === undefined || (!all && !allowed.includes(origin))) return false;
  res.setHeader('access-control-allow-origin', all ? '*' : origin);
  if (req.method !== 'OPTIONS' || req.headers['access-control-request-method'] === undefined) {
    res.setHeader('access-control-expose-headers', EXPOSED_HEADERS);
    return false;
  }
  answerPreflight(req.headers, res);
  return true;
}

function answerPreflight(headers: IncomingHttpHeaders, res: ServerResponse): void {
  const requested = headers['access-control-request-headers'];
  res.setHeader('access-control-allow-methods', METHODS);
  if (requested !== undefined && HEADER_NAMES.test(requested)) res.setHeader('access-control-allow-headers', requested);
  if (headers['access-control-request-private-network'] === 'true')
    res.setHeader('access-control-allow-private-network', 'true');
  res.setHeader('access-control-max-age', MAX_AGE);
  res.writeHead(204).end();
}
