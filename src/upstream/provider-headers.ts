import { type ApiTarget, type ProviderAddress, providerAddress } from '../protocol/request-target.ts';
import type { Route } from './routes.ts';

/**
 * Headers of a client that go to a provider: those that describe the body. Everything else is the client's own
 * business (credentials, cookies, addresses) or the gateway's.
 */
const TO_PROVIDER = ['content-type', 'accept', 'content-encoding', 'openai-beta'] as const;

/** Headers of a provider that go to a client: those that describe the body, and what the client may act on. */
const TO_CLIENT = [
  'content-type',
  'content-length',
  'content-encoding',
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
] as const;

type HeaderValue = string | string[] | undefined;

/**
 * The headers of a passed request: the client's that describe the body, the provider's credential, and the operator's
 * own headers, which win. Names are lower case, those of `incoming` too.
 */
export function headersToProvider(
  incoming: Readonly<Record<string, HeaderValue>>,
  route: Route,
): Record<string, string> {
  const headers: Record<string, string> = { 'user-agent': 'research-gateway' };
  for (const name of TO_PROVIDER) {
    const value = incoming[name];
    if (value !== undefined) headers[name] = String(value);
  }
  if (route.credential !== undefined) headers.authorization = `Bearer ${route.credential}`;
  for (const [name, value] of Object.entries(route.provider.config.headers)) headers[name.toLowerCase()] = value;
  return headers;
}

/** The headers of a provider's answer that a client sees. Names are lower case, those of `answer` too. */
export function headersToClient(answer: Readonly<Record<string, HeaderValue>>): Record<string, string> {
  const headers: Record<string, string> = {};
  for (const name of TO_CLIENT) {
    const value = answer[name];
    if (value !== undefined) headers[name] = String(value);
  }
  return headers;
}

/** Where an API is at a route's provider. @throws GatewayError as `providerAddress`. */
export function addressAt(route: Route, target: ApiTarget): ProviderAddress {
  return providerAddress(new URL(route.provider.config.base_url), target);
}

/** Credentials in use on a route, for cleaning what is quoted. */
export function secretsOf(route: Route): string[] {
  return [route.credential, ...Object.values(route.provider.config.headers)].filter((secret) => secret !== undefined);
}
