import type { IncomingMessage } from 'node:http';
import { GatewayError, messageOf } from '../../base/errors.ts';
import { clientAddress, isInNetworks, parseNetwork } from '../../base/networks.ts';
import { keyringOf } from '../../config/keyring.ts';
import type { GatewayConfig, KeyConfig } from '../../config/schema.ts';
import { secretHash } from '../../config/secrets.ts';
import type { AppDeps } from '../app-deps.ts';
import { isRepeated } from './framing.ts';

/** The parts of a request that identify its key. */
export type KeySource = Pick<IncomingMessage, 'headers' | 'rawHeaders' | 'socket'> & { url?: string | undefined };

const BEARER = /^bearer[ \t]+(\S+)[ \t]*$/i;

/**
 * The key that a request was sent with (docs/api.md, "In general").
 * @throws GatewayError `missing_api_key`, `invalid_api_key`.
 */
export function authenticate(req: KeySource, config: GatewayConfig, { clock }: Pick<AppDeps, 'clock'>): KeyConfig {
  const key = findKey(req, config);
  requireUsable(key, req, { config, clock });
  return key;
}

/** As `authenticate`, and records refusals in the audit log, with the key if it is known. */
export function identify(
  req: KeySource,
  config: GatewayConfig,
  { audit, clock }: Pick<AppDeps, 'audit' | 'clock'>,
): KeyConfig {
  let key: KeyConfig | undefined;
  try {
    key = findKey(req, config);
    requireUsable(key, req, { config, clock });
    return key;
  } catch (thrown) {
    const address = clientAddress(req, config.server.trust_proxy)?.toString();
    audit.recordRefusal({ target: key?.id, address, detail: messageOf(thrown) });
    throw thrown;
  }
}

function findKey(req: KeySource, config: GatewayConfig): KeyConfig {
  const header = req.headers.authorization ?? alternativeCredential(req);
  if (isRepeated(req, 'authorization')) {
    throw new GatewayError('invalid_api_key', 'Send one Authorization header, not several.');
  }
  if (header === undefined || header.trim() === '') {
    throw new GatewayError('missing_api_key', 'Send an API key in the header "Authorization: Bearer <key>".');
  }
  const secret = BEARER.exec(header)?.[1];
  // Comparing hashes keeps the time it takes from revealing anything about a secret.
  const key = secret === undefined ? undefined : keyringOf(config).byHash.get(secretHash({ secret }));
  if (!key) throw new GatewayError('invalid_api_key', 'The API key is not known to this gateway.');
  return key;
}

/** @throws GatewayError `invalid_api_key` if the key may not be used now, or from this address. */
function requireUsable(
  key: KeyConfig,
  req: KeySource,
  { config, clock }: { config: GatewayConfig; clock: AppDeps['clock'] },
): void {
  if (key.expires_at !== undefined && clock.now() >= Date.parse(key.expires_at)) {
    throw new GatewayError('invalid_api_key', `The API key expired at ${key.expires_at}.`);
  }
  if (key.allow_from && !comesFrom(req, key.allow_from, config.server.trust_proxy)) {
    throw new GatewayError('invalid_api_key', 'The API key may not be used from this address.');
  }
}

function comesFrom(req: KeySource, networks: readonly string[], proxies: readonly string[]): boolean {
  const address = clientAddress(req, proxies);
  return address !== undefined && isInNetworks(address, networks.map(parseNetwork));
}

/** Anthropic's clients send their key as `x-api-key`, Realtime clients in a browser as a protocol of the WebSocket. */
function alternativeCredential({ url = '', headers }: KeySource): string | undefined {
  const key = headers['x-api-key'];
  if (/^\/v1\/messages(?:[/?]|$)/.test(url)) return typeof key === 'string' ? `Bearer ${key}` : undefined;
  if (headers.upgrade === undefined) return undefined;
  const protocol = /(?:^|,) *openai-insecure-api-key\.([\x21-\x2b\x2d-\x7e]+)/.exec(
    headers['sec-websocket-protocol'] ?? '',
  );
  return protocol ? `Bearer ${protocol[1]}` : undefined;
}
