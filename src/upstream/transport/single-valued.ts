import type { IncomingHttpHeaders } from 'node:http';

/** Headers whose lines are combined into a list (RFC 9110, 5.3). */
const LIST_HEADERS = new Set(['content-encoding', 'content-language', 'cache-control']);

/** The headers with one value each: list headers are joined, of others the first line counts. */
export function singleValued(headers: IncomingHttpHeaders): Record<string, string | undefined> {
  const single: Record<string, string | undefined> = {};
  for (const name in headers) {
    const lines = headers[name];
    // Two hops that both name a coding have applied it once.
    if (Array.isArray(lines)) single[name] = LIST_HEADERS.has(name) ? [...new Set(lines)].join(', ') : lines[0];
    else single[name] = lines;
  }
  return single;
}
