import type { RemoteProviderConfig } from './schema.ts';

/** Names of headers that hold credentials; others (`http-referer`) stand in answers for good reasons. */
const SECRET_HEADER = /auth|key|token|secret|cookie|password/i;
/** The form of a credential under whatever name. */
const SECRET_VALUE = /^(?:bearer|basic|token)\s+\S/i;
const SCHEME = /^(?:bearer|basic|token)$/i;
/** Where providers look for their credential: of these a key's own leaves nothing of the operator's in place. */
const USUAL_HEADER = /^(?:authorization|x-api-key|api-key)$/i;
const SECRET_PARAMETER = /[?&](?:[\w-]*(?:key|token|secret|password|auth)|sig)=/i;

/** Whether a configured header holds a credential. */
export function isCredentialHeader(name: string, value: string): boolean {
  return SECRET_HEADER.test(name) || SECRET_VALUE.test(value);
}

/** What of configured headers is a secret: the values that are credentials, whole and without their scheme. */
export function headerSecrets(headers: Readonly<Record<string, string>>): string[] {
  return Object.entries(headers)
    .filter(([name, value]) => isCredentialHeader(name, value))
    .flatMap(([, value]) => [value, ...value.split(/\s+/).filter((part) => !SCHEME.test(part))]);
}

/** What of a provider's headers is a secret, with what sources gave. */
export function providerHeaderSecrets({
  headers,
  refreshed = [],
}: Pick<RemoteProviderConfig, 'headers' | 'refreshed'>): string[] {
  const given = refreshed.flatMap(({ header }) => (header === undefined ? [] : (headers[header] ?? [])));
  return [...headerSecrets(headers), ...given];
}

/**
 * The operator's headers that would go out beside a key's own credential. Once `api_key_header` says where the
 * credential stands, headers with names of their own are for somebody else on the way.
 */
export function unreplacedHeaders({ headers, refreshed = [], api_key_header: place }: RemoteProviderConfig): string[] {
  const written = Object.entries(headers).map(([name, value]) => ({ name, secret: isCredentialHeader(name, value) }));
  const given = refreshed.flatMap(({ header: name }) => (name === undefined ? [] : { name, secret: true }));
  const other = [...written, ...given].filter(({ name }) => name.toLowerCase() !== place?.toLowerCase());
  const kept = other.filter(({ name, secret }) => (place === undefined ? secret : USUAL_HEADER.test(name)));
  return kept.map(({ name }) => name);
}

/** Whether the query of a provider's address holds a credential, which nothing replaces. */
export function hasCredentialInQuery({ base_url }: Pick<RemoteProviderConfig, 'base_url'>): boolean {
  return SECRET_PARAMETER.test(base_url);
}
