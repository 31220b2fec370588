import { isObject, type JsonObject, type JsonValue } from '../base/json.ts';

/** Settings whose texts are shown. All other texts are masked, so that a forgotten setting is safe. */
const SHOWN = new Set(
  `host port id user team tags name model models provider kind apis tools level currency sync wire dialect builtin effort
  profile responses sticky priority allowed_tools allow_from allow_hosts deny_hosts cors_origins trust_proxy expires_at events
  api_key_header keys_removed region language workers passthrough folder otlp_endpoint base_url issuer token_url endpoint
  failover_on failover_off user_agent path server_name owned_by plan report verify after before engines allow_domains
  deny_domains allowed_domains blocked_domains`.split(/\s+/),
);
/** Addresses, of which only scheme and host are shown: the rest may hold a credential. */
const ADDRESSES = new Set(['url', 'base_url', 'otlp_endpoint', 'issuer', 'token_url', 'endpoint']);

/** Sections whose texts are all masked, because the operator chooses the names in them. */
const MASKED_SECTIONS = new Set(['headers', 'env', 'provider_keys', 'refreshed', 'args', 'command', 'oauth']);

const MASK = '***';
const MAX_SIZE = 1000;

/** A configuration for operators to read: numbers, choices and names are shown, secrets and unknown texts are masked. */
export function maskedConfig(config: object): JsonObject {
  const masked = maskValue(config, '');
  return isObject(masked) ? masked : {};
}

function maskValue(value: unknown, name: string): JsonValue {
  if (value === null || typeof value === 'number' || typeof value === 'boolean') return value;
  if (typeof value === 'string' && ADDRESSES.has(name)) return maskAddress(value);
  if (typeof value === 'string') return SHOWN.has(name) ? value : MASK;
  if (Array.isArray(value)) return value.slice(0, MAX_SIZE).map((each: unknown) => maskValue(each, name));
  if (typeof value !== 'object') return MASK;
  const entries = Object.entries(value).filter(([, each]) => each !== undefined);
  const nameInside = (key: string) => (MASKED_SECTIONS.has(name) ? name : key);
  return Object.fromEntries(entries.slice(0, MAX_SIZE).map(([key, each]) => [key, maskValue(each, nameInside(key))]));
}

/** Shortens an address to `https://host/…`: no user, password, path or query. Anything else is masked after its scheme. */
function maskAddress(text: string): string {
  const scheme = /^[a-z][a-z\d+.-]*:/i.exec(text)?.[0];
  if (scheme === undefined) return MASK;
  if (!URL.canParse(text)) return `${scheme}${MASK}`;
  const { host, pathname, search } = new URL(text);
  if (host === '') return scheme === 'memory:' ? text : `${scheme}${MASK}`;
  return `${scheme}//${host}${pathname.length > 1 || search !== '' ? '/…' : ''}`;
}
