import { isObject, type JsonObject, type JsonValue } from '../base/json.ts';

/** Settings whose texts are shown; every other text is masked, also one of a setting that nobody thought of. */
const SHOWN = new Set(
  `host port id user team tags name model models provider kind apis tools level currency sync wire dialect builtin effort
  profile responses sticky priority allowed_tools allow_from allow_hosts deny_hosts cors_origins trust_proxy expires_at events
  api_key_header keys_removed engine region language locale workers passthrough bucket storage folder otlp_endpoint base_url
  issuer token_url endpoint failover_on failover_off reasoning default_effort format user_agent path paths server_name`.split(
    /\s+/,
  ),
);
/** Of these only the beginning is shown: the rest of the address may be a credential. */
const ADDRESSES = new Set(['url', 'base_url', 'otlp_endpoint', 'issuer', 'token_url', 'endpoint']);

/** What stands in these is masked whatever it is called: their names are the operator's own. */
const SEALED = new Set(['headers', 'env', 'provider_keys', 'refreshed', 'args', 'command', 'oauth']);

const MASK = '***';
const MOST = 1000;

/** A configuration for operators to look at: numbers, choices and names; secrets and unknown texts are masked. */
export function shownConfig(config: object): JsonObject {
  const shown = shownIn(config, '');
  return isObject(shown) ? shown : {};
}

function shownIn(value: unknown, name: string): JsonValue {
  if (value === null || typeof value === 'number' || typeof value === 'boolean') return value;
  if (typeof value === 'string' && ADDRESSES.has(name)) return placeOf(value);
  if (typeof value === 'string') return SHOWN.has(name) ? value : MASK;
  if (Array.isArray(value)) return value.slice(0, MOST).map((each: unknown) => shownIn(each, name));
  if (typeof value !== 'object') return MASK;
  const entries = Object.entries(value).filter(([, each]) => each !== undefined);
  const inside = (key: string) => (SEALED.has(name) ? name : key);
  return Object.fromEntries(entries.slice(0, MOST).map(([key, each]) => [key, shownIn(each, inside(key))]));
}

/** `https://host/...`: without user, password, path and query. What is no such address is masked behind its scheme. */
function placeOf(text: string): string {
  const scheme = /^[a-z][a-z\d+.-]*:/i.exec(text)?.[0];
  if (scheme === undefined) return MASK;
  if (!URL.canParse(text)) return `${scheme}${MASK}`;
  const { host, pathname, search } = new URL(text);
  if (host === '') return scheme === 'memory:' ? text : `${scheme}${MASK}`;
  return `${scheme}//${host}${pathname.length > 1 || search !== '' ? '/…' : ''}`;
}
