import { hash } from 'node:crypto';
import { percentDecoded } from '../base/text.ts';
import { addressSecrets, headerSecrets, providerSecrets } from './credential-places.ts';
import type { GatewayConfig, KeyConfig, McpServerConfig, ProviderConfig } from './schema.ts';

/** The key of the default configuration. Everybody knows it, so it is for loopback addresses only. */
export const DEFAULT_SECRET = 'sk-local';

/** A value of a header that is so long may be a key, in characters. */
const LIKE_A_KEY = 16;

/** Everything in a configuration that must not be seen in a log line, for the redactor. */
export function* secretsIn(config: GatewayConfig): Iterable<string> {
  const { web_search: search, mcp_servers: mcpServers } = config.tools;
  const secrets = [
    ...Object.values(config.providers).flatMap(secretsOfProvider),
    ...[search, ...search.fallbacks].flatMap(({ api_key, url = '' }) => [api_key, ...addressSecrets(url)]),
    ...mcpServers.flatMap(mcpSecrets),
    ...storePasswords(config.store.url),
    ...config.store.encryption_keys,
    config.files.access_key_id,
    config.files.secret_access_key,
    ...telemetrySecrets(config.telemetry.headers),
    ...addressSecrets(config.telemetry.otlp_endpoint ?? ''),
  ];
  for (const secret of secrets) if (secret !== undefined && secret !== DEFAULT_SECRET) yield secret;
  for (const { secret } of config.keys) if (secret !== undefined && secret !== DEFAULT_SECRET) yield secret;
  yield* credentialsOfKeys(config);
}

/** What keys hold beside their own secret. */
export function* credentialsOfKeys({ keys }: Pick<GatewayConfig, 'keys'>): Iterable<string> {
  for (const { provider_keys, webhook } of keys) {
    yield* Object.values(provider_keys);
    yield* webhook?.secret ?? [];
  }
}

function secretsOfProvider(provider: ProviderConfig): (string | undefined)[] {
  return 'builtin' in provider ? [] : [provider.api_key, ...providerSecrets(provider)];
}

function mcpSecrets(server: McpServerConfig): (string | undefined)[] {
  if ('command' in server) return Object.values(server.env);
  const { access_token, oauth, headers, url } = server;
  return [access_token, oauth?.client_secret, ...headerSecrets(headers), ...addressSecrets(url)];
}

/** Vendors name the header of their key as they like: what is long may be one. */
function telemetrySecrets(headers: Readonly<Record<string, string>>): string[] {
  return [...headerSecrets(headers), ...Object.values(headers).filter((value) => value.length >= LIKE_A_KEY)];
}

/** Of Redis, and of the sentinels that watch it. */
function storePasswords(url: string): string[] {
  const parts = [/^rediss?(?:-cluster|-sentinel)?:\/\/[^@/]*?:([^@/]*)@/, /[?&]sentinel_password=([^&]*)/];
  const found = parts.map((part) => part.exec(url)?.[1]);
  // What is not encoded well is refused where the store is opened.
  return found.flatMap((password) => (password ? [password, percentDecoded(password) ?? password] : []));
}

/** The SHA-256 of an API key's secret in hex: what keys are found by, and what encrypts a request's credentials. */
export function secretHash(key: Pick<KeyConfig, 'secret' | 'secret_sha256'>): string {
  return key.secret_sha256 ?? hash('sha256', key.secret ?? '');
}
