import { currentTrace } from '../../base/trace-context.ts';
import type { RemoteProviderConfig } from '../../config/schema.ts';

/**
 * Headers of a client that go to a provider: those that describe the body or the call. Everything else is the client's
 * own business (credentials, cookies, addresses) or the gateway's.
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
/** The longest id, in characters. */
const LONGEST_ID = 256;

/** What else goes on with a body that is passed as it comes. */
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

/** What makes a WebSocket; a credential among the protocols is the client's own. */
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

/**
 * The headers of all requests under one credential: the credential, and the operator's own headers. Those win, but for
 * the header that is named for the credential.
 */
export function ownHeaders(
  { wire, headers, api_key_header: named }: Pick<RemoteProviderConfig, 'wire' | 'headers' | 'api_key_header'>,
  credential: string | undefined,
): Record<string, string> {
  const own: Record<string, string> = { 'user-agent': 'research-gateway' };
  if (wire === 'messages') own['anthropic-version'] = '2023-06-01';
  const place = named?.toLowerCase() ?? (wire === 'messages' ? 'x-api-key' : 'authorization');
  if (credential !== undefined) own[place] = place === 'authorization' ? `Bearer ${credential}` : credential;
  for (const [header, value] of Object.entries(headers)) {
    const name = header.toLowerCase();
    if (name !== named?.toLowerCase()) own[name] = value;
    else own[name] = credential === undefined ? value : withScheme(value, credential);
  }
  return own;
}

/** `Basic abc` is replaced by `Basic <credential>`. */
function withScheme(value: string, credential: string): string {
  const [scheme, rest] = value.trim().split(/\s+/);
  return rest === undefined ? credential : `${scheme} ${credential}`;
}

/** What goes out: a held body, one that passes as it comes, or the handshake of a WebSocket. */
export type TransferKind = 'held' | 'streamed' | 'socket';

const TO_PROVIDER_BY: Readonly<Record<TransferKind, readonly string[]>> = {
  held: TO_PROVIDER,
  streamed: STREAMED_TO_PROVIDER,
  socket: SOCKET_TO_PROVIDER,
};

/**
 * The headers of a passed request: the client's that describe it, the trace that it is sent in, and the provider's `own`,
 * which win. Names are lower case.
 */
export function headersToProvider(
  passage: TransferKind,
  incoming: Headers,
  own: Readonly<Record<string, string>>,
): Record<string, string> {
  const headers: Record<string, string> = {};
  // What is compressed can hide errors and credentials, cannot be counted, and comes in lumps.
  if (passage !== 'socket') headers['accept-encoding'] = 'identity';
  for (const name of TO_PROVIDER_BY[passage]) {
    const value = incoming[name];
    if (value !== undefined) headers[name] = typeof value === 'string' ? value : value.join(', ');
  }
  const protocols = passage === 'socket' ? plainProtocols(incoming) : '';
  if (protocols !== '') headers['sec-websocket-protocol'] = protocols;
  return Object.assign(headers, currentTrace(), own);
}

/** The protocols that a client offers, less those that hold its credential. */
function plainProtocols(incoming: Headers): string {
  return String(incoming['sec-websocket-protocol'] ?? '')
    .split(',')
    .map((protocol) => protocol.trim())
    .filter((protocol) => protocol !== '' && !/key|token|auth|bearer|secret|credential|password|jwt/i.test(protocol))
    .join(', ');
}

/** The headers of a provider's answer, once decoded, that a client sees. Names are lower case, those of `answer` too. */
export function headersToClient(answer: Headers): Record<string, string> {
  const headers: Record<string, string> = {};
  for (const name in answer) {
    const value = answer[name];
    if (value !== undefined && TO_CLIENT.has(name)) headers[name] = String(value);
  }
  if (answer['content-encoding'] !== undefined) delete headers['content-length'];
  const id = requestIdOf(answer);
  if (id !== undefined) headers['x-upstream-request-id'] = id;
  return headers;
}

/** The provider's own id of a request, where it gave one. */
export function requestIdOf(answer: Headers): string | undefined {
  for (const name of REQUEST_IDS) {
    const value = answer[name];
    if (typeof value === 'string' && value !== '' && value.length <= LONGEST_ID) return value;
  }
  return undefined;
}
