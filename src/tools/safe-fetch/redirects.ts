import { ToolError } from '../tool.ts';

const REDIRECTS = new Set([301, 302, 303, 307, 308]);

/** One request of a chain of redirects. */
export interface Hop {
  url: URL;
  method: string;
  headers: Headers;
  body: NonNullable<RequestInit['body']> | null;
}

/** Headers of one connection or host, which the HTTP client sets itself. */
const CONNECTION_HEADERS =
  'connection content-length host keep-alive proxy-authorization proxy-connection te trailer transfer-encoding upgrade'.split(
    ' ',
  );

/** Headers that follow a redirect to another origin. Any other may be a credential, whatever its name. */
const PUBLIC_HEADERS = /^(?:accept(?:-.+)?|content-.+|mcp-(?:protocol-version|method|name)|user-agent)$/;

/** The caller's headers without those of the connection, but with the length of a stream, and with a user agent. */
export function requestHeaders(callerHeaders: RequestInit['headers'], userAgent: string, body: Hop['body']): Headers {
  const headers = new Headers(callerHeaders);
  const length = body instanceof ReadableStream ? headers.get('content-length') : null;
  for (const name of CONNECTION_HEADERS) headers.delete(name);
  if (length !== null) headers.set('content-length', length);
  if (!headers.has('user-agent')) headers.set('user-agent', userAgent);
  return headers;
}

/**
 * The next request after `hop` was answered with `status` and `location`; undefined if that is no redirect. Methods
 * change as in the Fetch standard. Another origin gets no custom headers.
 * @throws ToolError `bad_redirect`.
 */
export function followRedirect(hop: Hop, status: number, location: string | null): Hop | undefined {
  if (!REDIRECTS.has(status) || location === null) return undefined;
  const url = URL.parse(location, hop.url);
  if (!url) throw new ToolError('bad_redirect', 'The page redirects to something that is not an address.');
  if (url.hash === '') url.hash = hop.url.hash;
  const headers = new Headers(hop.headers);
  if (url.origin !== hop.url.origin) {
    for (const name of [...headers.keys()]) if (!PUBLIC_HEADERS.test(name)) headers.delete(name);
  }
  const becomesGet =
    (status === 303 && hop.method !== 'GET' && hop.method !== 'HEAD') ||
    ((status === 301 || status === 302) && hop.method === 'POST');
  if (!becomesGet) {
    if (hop.body instanceof ReadableStream) {
      throw new ToolError('bad_redirect', 'The server redirects a request whose body can be sent only once.');
    }
    return { url, method: hop.method, headers, body: hop.body };
  }
  for (const name of [...headers.keys()]) if (name.startsWith('content-')) headers.delete(name);
  return { url, method: 'GET', headers, body: null };
}
