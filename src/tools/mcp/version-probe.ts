import { isObject, parseJson } from '../../base/json.ts';

/** The first request of the library: servers of earlier revisions do not know it. */
const PROBE = 'server/discover';
/** JSON-RPC: method not found. */
const METHOD_NOT_FOUND = -32_601;

/**
 * Lets a server of an earlier revision answer the probe with anything: HTTP 202, 204 or 500, an empty body, a page. The
 * library would give such a server up; told that it does not know the method, it goes on with `initialize`. Refusals (4xx)
 * and event streams are the library's to read.
 */
export function readingProbe(send: typeof fetch): typeof fetch {
  return async (input, init) => {
    const response = await send(input, init);
    if (typeof init?.body !== 'string' || !init.body.includes(PROBE)) return response;
    const probe = parseJson(init.body);
    if (!isObject(probe) || probe.method !== PROBE) return response;
    const isStream = /^text\/event-stream\b/i.test(response.headers.get('content-type') ?? '');
    if ((response.ok && isStream) || (response.status >= 300 && response.status < 500)) return response;
    const text = await response.text();
    const answer = response.ok ? parseJson(text) : undefined;
    if (isObject(answer) && answer.id === probe.id) return new Response(text, response);
    return Response.json({
      jsonrpc: '2.0',
      id: probe.id,
      error: { code: METHOD_NOT_FOUND, message: 'Method not found' },
    });
  };
}
