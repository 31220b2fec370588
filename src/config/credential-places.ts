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
    .flatMap(([, value]) => [
      value,
      ...value.split(/\s+/).filter((part) => !SCHEME.test(part)),
      ...basicSecrets(value),
    ]);
}

/** User and password, and the password alone; of a user without one the user. */
function basicSecrets(header: string): string[] {
  const encoded = /^basic\s+(\S+)$/i.exec(header)?.[1];
  if (encoded === undefined) return [];
  const both = Buffer.from(encoded, 'base64').toString();
  const [user = '', password] = both.split(/:(.*)/s);
  return [both, password || user];
}

/** What of a provider's headers and address is a secret, with what sources gave. */
export function providerSecrets({
  base_url,
  headers,
  refreshed = [],
}: Pick<RemoteProviderConfig, 'base_url' | 'headers' | 'refreshed'>): string[] {
  const given = refreshed.flatMap(({ header }) => (header === undefined ? [] : (headers[header] ?? [])));
  return [...headerSecrets(headers), ...addressSecrets(base_url), ...given];
}

/** What of an address is a secret: the parameters of its query that are credentials, as they are written and as they are read. */
export function addressSecrets(address: string): string[] {
  const query = address.split('?').slice(1).join('?');
  const named = query.split('&').filter((parameter) => SECRET_PARAMETER.test(`?${parameter}`));
  return named.flatMap((parameter) => {
    const [[, read = ''] = []] = new URLSearchParams(parameter);
    return [parameter.slice(parameter.indexOf('=') + 1), read].filter((value) => value !== '');
  });
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
