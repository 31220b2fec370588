import { hash } from 'node:crypto';
import type { GatewayConfig, KeyConfig, McpServerConfig, ProviderConfig } from './schema.ts';

/** The key of the default configuration. Everybody knows it, so it is for loopback addresses only. */
export const DEFAULT_SECRET = 'sk-local';

/** Whether a key is the one that everybody knows. */
function isDefaultKey(key: Pick<KeyConfig, 'secret' | 'secret_sha256'>): boolean {
  return secretHash(key) === hash('sha256', DEFAULT_SECRET, 'hex');
}

/** Everything in a configuration that must not be seen in a log line, for the redactor. */
export function secretsOf(config: GatewayConfig): string[] {
  const { web_search: search, mcp_servers: mcpServers } = config.tools;
  const secrets = [
    ...config.keys.flatMap((key) => [key.secret, ...Object.values(key.provider_keys)]),
    ...Object.values(config.providers).flatMap(providerSecrets),
    ...[search, ...search.fallbacks].map((backend) => backend.api_key),
    ...mcpServers.flatMap(mcpSecrets),
    ...storePasswords(config.store.url),
  ];
  return secrets.filter((secret) => secret !== undefined && secret !== DEFAULT_SECRET).map(String);
}

function providerSecrets(provider: ProviderConfig): (string | undefined)[] {
  return 'builtin' in provider ? [] : [provider.api_key, ...headerSecrets(provider.headers)];
}

function mcpSecrets(server: McpServerConfig): (string | undefined)[] {
  if ('command' in server) return Object.values(server.env);
  return [server.access_token, server.oauth?.client_secret, ...headerSecrets(server.headers)];
}

/** A header's value, and for `Bearer xyz` also the part after the scheme. */
function headerSecrets(headers: Record<string, string>): string[] {
  return Object.values(headers).flatMap((value) => [value, ...value.split(/\s+/).slice(1)]);
}

/** Of Redis, and of the sentinels that watch it. */
function storePasswords(url: string): string[] {
  const parts = [/^rediss?(?:-cluster|-sentinel)?:\/\/[^@/]*?:([^@/]*)@/, /[?&]sentinel_password=([^&]*)/];
  const found = parts.map((part) => part.exec(url)?.[1]);
  return found.flatMap((password) => (password ? [password, decodeURIComponent(password)] : []));
}

/** The SHA-256 of an API key's secret in hex: what keys are found by, and what encrypts a request's credentials. */
export function secretHash(key: Pick<KeyConfig, 'secret' | 'secret_sha256'>): string {
  return key.secret_sha256 ?? hash('sha256', key.secret ?? '');
}

/** The well-known key while it is accepted (contract section 10). It is no secret; nothing else of `keys` may be shown. */
export function acceptedDefaultKey(config: GatewayConfig): string | undefined {
  return config.keys.some(isDefaultKey) ? DEFAULT_SECRET : undefined;
}
