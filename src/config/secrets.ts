import { hash } from 'node:crypto';
import { percentDecode } from '../base/text.ts';
import { addressSecrets, headerSecrets, providerSecrets } from './credential-places.ts';
import type { GatewayConfig, KeyConfig, McpServerConfig } from './schema.ts';

/** The key of the default configuration. Everybody knows it, so it is accepted on loopback addresses only. */
export const DEFAULT_SECRET = 'sk-local';

/** A header value of at least this many characters may be a key. */
const MIN_KEY_LENGTH = 16;

/** All secrets in a configuration, for the redactor of logs. */
export function* secretsIn(config: GatewayConfig): Iterable<string> {
  const { web_search: search, mcp_servers: mcpServers } = config.tools;
  const secrets = [
    ...Object.values(config.providers).flatMap((provider) =>
      'builtin' in provider ? [] : [provider.api_key, ...providerSecrets(provider)],
    ),
    ...[search, ...search.fallbacks].flatMap(({ api_key, url = '' }) => [api_key, ...addressSecrets(url)]),
    ...mcpServers.flatMap(mcpSecrets),
    ...storePasswords(config.store.url),
    ...config.store.encryption_keys,
    config.files.access_key_id,
    config.files.secret_access_key,
    ...headerSecrets(config.telemetry.headers),
    // Vendors name the header of their key as they like, so every long value may be one.
    ...Object.values(config.telemetry.headers).filter((value) => value.length >= MIN_KEY_LENGTH),
    ...addressSecrets(config.telemetry.otlp_endpoint ?? ''),
  ];
  for (const secret of secrets) if (secret !== undefined && secret !== DEFAULT_SECRET) yield secret;
  for (const { secret } of config.keys) if (secret !== undefined && secret !== DEFAULT_SECRET) yield secret;
  yield* keyCredentials(config);
}

/** The credentials in `keys` besides the keys' own secrets. */
export function* keyCredentials({ keys }: Pick<GatewayConfig, 'keys'>): Iterable<string> {
  for (const { provider_keys, webhook } of keys) {
    yield* Object.values(provider_keys);
    yield* webhook?.secret ?? [];
  }
}

function mcpSecrets(server: McpServerConfig): (string | undefined)[] {
  if ('command' in server) return Object.values(server.env);
  const { access_token, oauth, headers, url } = server;
  return [access_token, oauth?.client_secret, ...headerSecrets(headers), ...addressSecrets(url)];
}

/** The passwords of Redis and of its sentinels. */
function storePasswords(url: string): string[] {
  const parts = [/^rediss?(?:-cluster|-sentinel)?:\/\/[^@/]*?:([^@/]*)@/, /[?&]sentinel_password=([^&]*)/];
  const found = parts.map((part) => part.exec(url)?.[1]);
  // Malformed encoding is refused when the store is opened.
  return found.flatMap((password) => (password ? [password, percentDecode(password) ?? password] : []));
}

/** The SHA-256 of an API key's secret in hex, by which keys are looked up and from which their cipher is derived. */
export function secretHash(key: Pick<KeyConfig, 'secret' | 'secret_sha256'>): string {
  return key.secret_sha256 ?? hash('sha256', key.secret ?? '');
}
