import { hash, timingSafeEqual } from 'node:crypto';
import type { IncomingMessage } from 'node:http';
import { GatewayError } from '../../base/errors.ts';
import type { GatewayConfig, KeyConfig } from '../../config/schema.ts';
import { isRepeated } from './repeated.ts';

/** The API keys of a configuration, found by the hash of their secret. */
export class Keyring {
  readonly #byHash = new Map<string, { key: KeyConfig; digest: Buffer }>();

  constructor(keys: readonly KeyConfig[]) {
    for (const key of keys) {
      const hex = key.secret_sha256 ?? sha256(key.secret ?? '');
      this.#byHash.set(hex, { key, digest: Buffer.from(hex, 'hex') });
    }
  }

  /** The key with this secret. What is compared is hashes, so that time tells nothing about a secret. */
  find(secret: string): KeyConfig | undefined {
    const hex = sha256(secret);
    const entry = this.#byHash.get(hex);
    return entry && timingSafeEqual(entry.digest, Buffer.from(hex, 'hex')) ? entry.key : undefined;
  }
}

/** Gives the keyring of a configuration, made again only when the configuration was replaced. */
export function keyrings(): (config: GatewayConfig) => Keyring {
  const made = new WeakMap<GatewayConfig, Keyring>();
  return (config) => {
    const known = made.get(config);
    if (known) return known;
    const keyring = new Keyring(config.keys);
    made.set(config, keyring);
    return keyring;
  };
}

const BEARER = /^bearer[ \t]+(\S+)[ \t]*$/i;

/**
 * The key that a request shows (specification section 5).
 * @throws GatewayError `missing_api_key`, `invalid_api_key`.
 */
export function authenticate(req: IncomingMessage, keyring: Keyring): KeyConfig {
  const header = req.headers.authorization ?? ownCredential(req);
  if (isRepeated(req, 'authorization')) {
    throw new GatewayError('invalid_api_key', 'Send one Authorization header, not several.');
  }
  if (header === undefined || header.trim() === '') {
    throw new GatewayError('missing_api_key', 'Send an API key in the header "Authorization: Bearer <key>".');
  }
  const secret = BEARER.exec(header)?.[1];
  const key = secret === undefined ? undefined : keyring.find(secret);
  if (!key) throw new GatewayError('invalid_api_key', 'The API key is not known to this gateway.');
  return key;
}

/** Anthropic's clients show their key as `x-api-key`, those of Realtime in a browser as a protocol of the WebSocket. */
function ownCredential({ url = '', headers }: IncomingMessage): string | undefined {
  const key = headers['x-api-key'];
  if (/^\/v1\/messages(?:[/?]|$)/.test(url)) return typeof key === 'string' ? `Bearer ${key}` : undefined;
  if (headers.upgrade === undefined) return undefined;
  const shown = /(?:^|,) *openai-insecure-api-key\.([\x21-\x2b\x2d-\x7e]+)/.exec(
    headers['sec-websocket-protocol'] ?? '',
  );
  return shown ? `Bearer ${shown[1]}` : undefined;
}

function sha256(text: string): string {
  return hash('sha256', text, 'hex');
}
