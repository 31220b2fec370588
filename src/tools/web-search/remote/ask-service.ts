import type { JsonValue } from '../../../base/json.ts';
import { REDACTED } from '../../../base/logger.ts';
import { waitOfHeader } from '../../../base/retry-after.ts';
import { SecretMask } from '../../../base/secrets/secret-mask.ts';
import { toSingleLine } from '../../../base/text.ts';
import { addressSecrets, headerSecrets } from '../../../config/credential-places.ts';
import { parseLimitedJson } from '../../../protocol/requests/json-spans.ts';
import type { SafeFetch } from '../../safe-fetch/safe-fetch.ts';
import { type SearchCall, SearchFailure, type SearchFailureKind } from '../search-provider.ts';

/** A service's answer, whatever its status. */
export interface ServiceAnswer {
  status: number;
  headers: Headers;
  /** Undefined if it is not JSON. */
  body: JsonValue | undefined;
}

export interface ServiceRequest {
  url: URL;
  headers?: Record<string, string>;
  /** Sent by POST; a request without it is a GET. */
  json?: JsonValue;
}

/** The details of a service's error, where it has more than the status. */
export interface ServiceRefusal {
  kind?: SearchFailureKind | undefined;
  detail?: string | undefined;
  /** The wait that the service names elsewhere than in `Retry-After`. */
  retryAfterMs?: number | undefined;
}

/** Sends one request to a search service and reads its JSON, with credentials masked that the answer may quote. */
export async function askService(
  options: { fetch: SafeFetch['fetch'] },
  request: ServiceRequest,
  { signal, onAnswer }: SearchCall,
): Promise<ServiceAnswer> {
  const response = await options.fetch(request.url, {
    method: request.json === undefined ? 'GET' : 'POST',
    headers: {
      accept: 'application/json',
      ...(request.json === undefined ? {} : { 'content-type': 'application/json' }),
      ...request.headers,
    },
    ...(request.json === undefined ? {} : { body: JSON.stringify(request.json) }),
    // A redirect must not get the key.
    redirect: 'error',
    signal,
  });
  onAnswer?.(response.headers);
  const mask = new SecretMask([...headerSecrets(request.headers ?? {}), ...addressSecrets(request.url.href)]);
  const text = mask.maskText(await response.text(), REDACTED);
  return { status: response.status, headers: response.headers, body: parseLimitedJson(text) };
}

/** The configured address of a service, else its public one, whose path a configured address without a path gets. */
export function serviceUrl(publicUrl: string, configured: string | undefined): URL {
  const url = new URL(configured ?? publicUrl);
  if (configured !== undefined && url.pathname === '/') url.pathname = new URL(publicUrl).pathname;
  return url;
}

const KINDS: Readonly<Record<number, SearchFailureKind>> = {
  400: 'rejected',
  401: 'unauthorized',
  402: 'quota_exceeded',
  403: 'unauthorized',
  404: 'rejected',
  422: 'rejected',
  429: 'rate_limited',
};

const MESSAGES: Readonly<Record<SearchFailureKind, string>> = {
  rate_limited: 'refuses more searches for the moment',
  quota_exceeded: 'has no searches left for this account',
  unauthorized: 'does not accept the configured key',
  rejected: 'rejects the query',
  unavailable: 'failed',
};

/** The failure that a service's refusal means. */
export function failureOf(answer: ServiceAnswer, refusal: ServiceRefusal): SearchFailure {
  const kind = refusal.kind ?? KINDS[answer.status] ?? 'unavailable';
  const detail = toSingleLine(refusal.detail ?? '').slice(0, 160);
  const { headers } = answer;
  const named = waitOfHeader(headers.get('retry-after'), headers.get('date')) ?? refusal.retryAfterMs ?? 0;
  const message = `${MESSAGES[kind]} (HTTP ${answer.status}${detail ? `: ${detail}` : ''})`;
  // Services also name no wait at all, or one that is over: asked again at once, they would be asked without end.
  return new SearchFailure(kind, message, named > 0 ? { retryAfterMs: named } : {});
}

/** The failure of a 200 whose body is not what the service documents. */
export function unexpectedAnswer(): SearchFailure {
  return new SearchFailure('unavailable', 'answered with something that is not its result format');
}
