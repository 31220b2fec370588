import { MAX_SDK_RETRY_MS } from '../../base/retry-after.ts';
import { currentTrace } from '../../base/telemetry/trace-context.ts';
import type { RemoteProviderConfig } from '../../config/schema.ts';
import { retryAfterMs } from '../routing/retry-after.ts';

/**
 * Headers of a client that go to a provider: those that describe the body or the call. All others are private to the client
 * (credentials, cookies, addresses) or set by the gateway.
 */
const TO_PROVIDER = [
  'content-type',
  'accept',
  'content-encoding',
  'openai-beta',
  'anthropic-version',
  'anthropic-beta',
  'traceparent',
  'tracestate',
] as const;

/** Headers of a provider that go to a client: those that describe the body, and what the client may act on. */
const TO_CLIENT = new Set([
  'content-type',
  'content-length',
  'content-disposition',
  'content-language',
  'content-range',
  'accept-ranges',
  'cache-control',
  'etag',
  'last-modified',
  'retry-after',
  'retry-after-ms',
  'x-should-retry',
  'openai-model',
  'openai-processing-ms',
  'openai-version',
]);

const REQUEST_IDS = ['x-request-id', 'request-id', 'apim-request-id', 'x-amzn-requestid', 'x-goog-request-id'] as const;
/** The longest request id that is forwarded, in characters. */
const MAX_ID = 256;

/** Further headers that are forwarded with a streamed body. */
const STREAMED_TO_PROVIDER = [
  ...TO_PROVIDER,
  'content-length',
  'transfer-encoding',
  'trailer',
  'content-disposition',
  'content-language',
  'content-md5',
  'digest',
  'accept-language',
  'range',
  'if-range',
  'if-match',
  'if-none-match',
  'if-modified-since',
  'if-unmodified-since',
] as const;

/** The headers of a WebSocket handshake. The protocols are filtered, because they may hold the client's credential. */
const SOCKET_TO_PROVIDER = [
  'connection',
  'upgrade',
  'sec-websocket-key',
  'sec-websocket-version',
  'openai-beta',
  'traceparent',
  'tracestate',
] as const;

type Headers = Readonly<Record<string, string | string[] | undefined>>;

/** The headers of all requests under one credential. Those of the operator win, except over `api_key_header`. */
export function ownHeaders(
  { wire, headers, api_key_header: keyHeader }: Pick<RemoteProviderConfig, 'wire' | 'headers' | 'api_key_header'>,
  credential: string | undefined,
): Record<string, string> {
  const own: Record<string, string> = { 'user-agent': 'research-gateway' };
  if (wire === 'messages') own['anthropic-version'] = '2023-06-01';
  const target = keyHeader?.toLowerCase() ?? (wire === 'messages' ? 'x-api-key' : 'authorization');
  if (credential !== undefined) own[target] = target === 'authorization' ? `Bearer ${credential}` : credential;
  for (const [header, value] of Object.entries(headers)) {
    const name = header.toLowerCase();
    if (name !== keyHeader?.toLowerCase()) own[name] = value;
    else own[name] = credential === undefined ? value : withScheme(value, credential);
  }
  return own;
}

/** The credential with the scheme of the configured value: `Basic abc` becomes `Basic <credential>`. */
function withScheme(value: string, credential: string): string {
  const [scheme, rest] = value.trim().split(/\s+/);
  return rest === undefined ? credential : `${scheme} ${credential}`;
}

/** What a request sends: a buffered body, a streamed one, or the handshake of a WebSocket. */
export type TransferKind = 'buffered' | 'streamed' | 'socket';

const TO_PROVIDER_BY: Readonly<Record<TransferKind, readonly string[]>> = {
  buffered: TO_PROVIDER,
  streamed: STREAMED_TO_PROVIDER,
  socket: SOCKET_TO_PROVIDER,
};

/**
 * The headers of a proxied request: the client's that describe it, the current trace, and the provider's `own`, which win.
 * Names are lower case.
 */
export function headersToProvider(
  kind: TransferKind,
  incoming: Headers,
  own: Readonly<Record<string, string>>,
): Record<string, string> {
  const headers: Record<string, string> = {};
  // Compression would hide errors and credentials, prevent counting, and delay chunks.
  if (kind !== 'socket') headers['accept-encoding'] = 'identity';
  for (const name of TO_PROVIDER_BY[kind]) {
    const value = incoming[name];
    if (value !== undefined) headers[name] = typeof value === 'string' ? value : value.join(', ');
  }
  // Node throws on the announcement of trailers that cannot follow.
  if (headers['transfer-encoding'] === undefined) delete headers.trailer;
  const protocols = kind === 'socket' ? publicProtocols(incoming) : '';
  if (protocols !== '') headers['sec-websocket-protocol'] = protocols;
  return Object.assign(headers, currentTrace(), own);
}

/** The protocols that a client offers, without those that hold its credential. */
function publicProtocols(incoming: Headers): string {
  return String(incoming['sec-websocket-protocol'] ?? '')
    .split(',')
    .map((protocol) => protocol.trim())
    .filter((protocol) => protocol !== '' && !/key|token|auth|bearer|secret|credential|password|jwt/i.test(protocol))
    .join(', ');
}

/** The headers of a provider's decoded answer that go to a client. All names are lower case. */
export function headersToClient(answer: Headers): Record<string, string> {
  const headers: Record<string, string> = {};
  for (const name in answer) {
    const value = answer[name];
    if (value !== undefined && TO_CLIENT.has(name)) headers[name] = String(value);
  }
  if (answer['content-encoding'] !== undefined) delete headers['content-length'];
  const wait = retryAfterMs(answer, Date.now());
  if (wait !== undefined && wait > MAX_SDK_RETRY_MS) headers['x-should-retry'] ??= 'false';
  const id = requestIdOf(answer);
  if (id !== undefined) headers['x-upstream-request-id'] = id;
  return headers;
}

/** The provider's own id of a request, if it sent one. */
export function requestIdOf(answer: Headers): string | undefined {
  for (const name of REQUEST_IDS) {
    const value = answer[name];
    if (typeof value === 'string' && value !== '' && value.length <= MAX_ID) return value;
  }
  return undefined;
}
