import type { RemoteProviderConfig } from './schema.ts';

/** Names of headers that hold credentials. The values of others (`http-referer`) may legitimately occur in answers. */
const SECRET_HEADER = /auth|key|token|secret|cookie|password/i;
/** A value that is a credential whatever its header is called. */
const SECRET_VALUE = /^(?:bearer|basic|token)\s+\S/i;
const SCHEME = /^(?:bearer|basic|token)$/i;
/** Headers where providers look for a credential. A key's own credential must replace the operator's in all of them. */
const USUAL_HEADER = /^(?:authorization|x-api-key|api-key)$/i;
const SECRET_PARAMETER = /[?&](?:[\w-]*(?:key|token|secret|password|auth)|sig)=/i;

/** Whether a configured header holds a credential. */
export function isCredentialHeader(name: string, value: string): boolean {
  return SECRET_HEADER.test(name) || SECRET_VALUE.test(value);
}

/** The secrets in configured headers: values that are credentials, whole and without their scheme. */
export function headerSecrets(headers: Readonly<Record<string, string>>): string[] {
  return Object.entries(headers)
    .filter(([name, value]) => isCredentialHeader(name, value))
    .flatMap(([, value]) => [
      value,
      ...value.split(/\s+/).filter((part) => !SCHEME.test(part)),
      ...basicSecrets(value),
    ]);
}

/** `user:password` and the password of a Basic header; without a password, the user. */
function basicSecrets(header: string): string[] {
  const encoded = /^basic\s+(\S+)$/i.exec(header)?.[1];
  if (encoded === undefined) return [];
  const decoded = Buffer.from(encoded, 'base64').toString();
  const [user = '', password] = decoded.split(/:(.*)/s);
  return [decoded, password || user];
}

/** The secrets in a provider's headers and address, including those that sources supplied. */
export function providerSecrets({
  base_url,
  headers,
  refreshed = [],
}: Pick<RemoteProviderConfig, 'base_url' | 'headers' | 'refreshed'>): string[] {
  const supplied = refreshed.flatMap(({ header }) => (header === undefined ? [] : (headers[header] ?? [])));
  return [...headerSecrets(headers), ...addressSecrets(base_url), ...supplied];
}

/** The secrets in an address: query parameters that are credentials, both as written and decoded. */
export function addressSecrets(address: string): string[] {
  const query = address.split('?').slice(1).join('?');
  const named = query.split('&').filter((parameter) => SECRET_PARAMETER.test(`?${parameter}`));
  return named.flatMap((parameter) => {
    const [[, decoded = ''] = []] = new URLSearchParams(parameter);
    return [parameter.slice(parameter.indexOf('=') + 1), decoded].filter((value) => value !== '');
  });
}

/**
 * The operator's credential headers that would be sent along with a key's own credential. Once `api_key_header` names the
 * credential's header, headers with unusual names are taken to be for a proxy on the way.
 */
export function unreplacedHeaders({ headers, refreshed = [], api_key_header: own }: RemoteProviderConfig): string[] {
  const plain = Object.entries(headers).map(([name, value]) => ({ name, isSecret: isCredentialHeader(name, value) }));
  const supplied = refreshed.flatMap(({ header: name }) => (name === undefined ? [] : { name, isSecret: true }));
  const others = [...plain, ...supplied].filter(({ name }) => name.toLowerCase() !== own?.toLowerCase());
  const sent = others.filter(({ name, isSecret }) => (own === undefined ? isSecret : USUAL_HEADER.test(name)));
  return sent.map(({ name }) => name);
}

/** Whether the query of a provider's address holds a credential, which a key's own credential cannot replace. */
export function hasCredentialInQuery({ base_url }: Pick<RemoteProviderConfig, 'base_url'>): boolean {
  return SECRET_PARAMETER.test(base_url);
}
