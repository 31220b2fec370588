import type { JsonValue } from '../../../base/json.ts';
import { REDACTED } from '../../../base/logger.ts';
import { SecretMask } from '../../../base/secrets/secret-mask.ts';
import { onOneLine } from '../../../base/text.ts';
import { addressSecrets, headerSecrets } from '../../../config/credential-places.ts';
import { parseReadable } from '../../../protocol/requests/json-spans.ts';
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

/** What a service's own error says, where it says more than the status. */
export interface ServiceRefusal {
  known?: SearchFailureKind | undefined;
  detail?: string | undefined;
  retryAfterMs?: number | undefined;
}

/** Sends one request to a search service and reads its JSON, without the credentials that it may quote. */
export async function askService(
  options: { fetch: SafeFetch['fetch'] },
  request: ServiceRequest,
  { signal, answered }: SearchCall,
): Promise<ServiceAnswer> {
  const response = await options.fetch(request.url, {
    method: request.json === undefined ? 'GET' : 'POST',
    headers: {
      accept: 'application/json',
      ...(request.json === undefined ? {} : { 'content-type': 'application/json' }),
      ...request.headers,
    },
    ...(request.json === undefined ? {} : { body: JSON.stringify(request.json) }),
    // A key never follows a redirect.
    redirect: 'error',
    signal,
  });
  answered?.(response.headers);
  const mask = new SecretMask([...headerSecrets(request.headers ?? {}), ...addressSecrets(request.url.href)]);
  const text = mask.text(await response.text(), REDACTED);
  return { status: response.status, headers: response.headers, body: parseReadable(text) };
}

/** The address to ask: the service's own, or the configured one with the service's path unless it has its own. */
export function serviceUrl(own: string, configured: string | undefined): URL {
  const url = new URL(configured ?? own);
  if (configured !== undefined && url.pathname === '/') url.pathname = new URL(own).pathname;
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

const WORDS: Readonly<Record<SearchFailureKind, string>> = {
  rate_limited: 'refuses more searches for the moment',
  quota_exceeded: 'has no searches left for this account',
  unauthorized: 'does not accept the configured key',
  rejected: 'rejects the query',
  unavailable: 'failed',
};

/** The failure that an answer stands for. */
export function failureOf(answer: ServiceAnswer, about: ServiceRefusal): SearchFailure {
  const kind = about.known ?? KINDS[answer.status] ?? 'unavailable';
  const detail = onOneLine(about.detail ?? '').slice(0, 160);
  const retryAfterMs = about.retryAfterMs ?? retryAfter(answer.headers);
  const message = `${WORDS[kind]} (HTTP ${answer.status}${detail ? `: ${detail}` : ''})`;
  return new SearchFailure(kind, message, retryAfterMs === undefined ? {} : { retryAfterMs });
}

/** The failure of a 200 whose body is not what the service documents. */
export function unexpectedAnswer(): SearchFailure {
  return new SearchFailure('unavailable', 'answered with something that is not its result format');
}

/** Milliseconds of a `Retry-After` header, in seconds or as a date. */
export function retryAfter(headers: Headers): number | undefined {
  const given = headers.get('retry-after');
  if (given === null) return undefined;
  const seconds = Number(given);
  const ms = Number.isFinite(seconds) ? seconds * 1000 : Date.parse(given) - Date.now();
  return Number.isFinite(ms) ? Math.max(0, ms) : undefined;
}
