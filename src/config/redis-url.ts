import { percentDecode } from '../base/text.ts';

/** The address of a Redis node. */
export interface Address {
  host: string;
  port: number;
}

export interface Credentials {
  username?: string;
  password?: string;
}

/** A parsed `store.url` that begins with `redis`. */
export interface RedisUrl extends Credentials {
  kind: 'single' | 'sentinel' | 'cluster';
  /** The server, the sentinels, or some nodes of the cluster. */
  nodes: readonly [Address, ...Address[]];
  database: number;
  isSecure: boolean;
  /** The name of the master that the sentinels monitor. */
  master: string;
  /** Credentials for the sentinels themselves. */
  sentinel: Credentials;
}

const FORM = /^redis(s?)(-cluster|-sentinel)?:\/\/(?:([^@/]*)@)?([^/?]+)((?:\/[^/?]*)*)(?:\?(.*))?$/;

/**
 * Parses `redis://user:password@host:6379/0`, `redis-cluster://a:6379,b:6379` or
 * `redis-sentinel://s1:26379,s2:26379/name/0`, each also with `rediss` for TLS. Sentinels may have credentials of their
 * own: `?sentinel_username=...&sentinel_password=...`.
 * @throws Error whose message continues "store.url" and names the fix; it quotes nothing of the URL.
 */
export function parseRedisUrl(url: string): RedisUrl {
  const parts = FORM.exec(url);
  if (!parts) {
    throw new Error(
      'must be redis://host:port/db, redis-cluster://a:6379,b:6379 or redis-sentinel://s1:26379,s2:26379/name',
    );
  }
  const [, secure = '', form = '', credentials = '', hosts = '', path = '', query = ''] = parts;
  // If there are two @, the text after the first one is part of the password.
  if (/@/.test(hosts + path) || [credentials, path].some((text) => percentDecode(text) === undefined)) {
    throw new Error('must have @ as %40, / as %2F and % as %25 in user and password');
  }
  const kind = form === '-cluster' ? 'cluster' : form === '-sentinel' ? 'sentinel' : 'single';
  const [first, ...rest] = hosts.split(',').map((host) => parseAddress(host, kind === 'sentinel' ? 26_379 : 6379));
  if (!first || (kind === 'single' && rest.length > 0)) {
    throw new Error('must name one host after redis://; several are redis-cluster:// or redis-sentinel://');
  }
  const segments = path.split('/').slice(1).map(decodeURIComponent);
  const master = kind === 'sentinel' ? (segments.shift() ?? '') : '';
  if (kind === 'sentinel' && master === '') {
    throw new Error(
      'must have the name of the master behind the sentinels: redis-sentinel://s1:26379,s2:26379/mymaster',
    );
  }
  const database = Number(segments[0] || 0);
  if (!Number.isInteger(database) || database < 0)
    throw new Error('must have the number of a database behind the last /');
  if (kind === 'cluster' && database !== 0) throw new Error('must name database 0: a Redis Cluster has no other');
  // Only forms write a space as +.
  const parameters = new URLSearchParams(query.replaceAll('+', '%2B'));
  const isKnown = (parameter: string) => kind === 'sentinel' && /^sentinel_(?:username|password)$/.test(parameter);
  if (![...parameters.keys()].every(isKnown)) {
    throw new Error(
      'must have nothing behind a ?, except sentinel_username and sentinel_password with redis-sentinel://',
    );
  }
  return {
    kind,
    nodes: [first, ...rest],
    database,
    master,
    isSecure: secure !== '',
    ...parseCredentials(credentials),
    sentinel: credentialsOf(parameters.get('sentinel_username') ?? '', parameters.get('sentinel_password') ?? ''),
  };
}

function parseAddress(text: string, defaultPort: number): Address {
  const [, host = '', port = defaultPort] = /^(\[[^\]]+\]|[^:[\]\s]+)(?::(\d{1,5}))?$/.exec(text) ?? [];
  if (host === '' || Number(port) < 1 || Number(port) > 65_535) {
    throw new Error('must name each node as host:port, with a port from 1 to 65535');
  }
  return { host: host.replace(/^\[|\]$/g, ''), port: Number(port) };
}

function parseCredentials(text: string): Credentials {
  const [username = '', ...password] = text.split(':');
  return credentialsOf(decodeURIComponent(username), decodeURIComponent(password.join(':')));
}

function credentialsOf(username: string, password: string): Credentials {
  return { ...(username !== '' && { username }), ...(password !== '' && { password }) };
}
