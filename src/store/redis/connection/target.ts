import { readFileSync } from 'node:fs';

/** Where a node of Redis listens. */
export interface Address {
  host: string;
  port: number;
}

/** Files for TLS, in PEM. */
export interface TlsFiles {
  /** Certificates of the authorities to trust, in place of the system's. */
  caFile?: string | undefined;
  /** A certificate of one's own and its key, where Redis asks for one. */
  certFile?: string | undefined;
  keyFile?: string | undefined;
  /** The name that certificates must have, where nodes are found by addresses that theirs do not name. */
  serverName?: string | undefined;
}

interface Tls {
  ca?: Buffer;
  cert?: Buffer;
  key?: Buffer;
  servername?: string;
}

export interface Credentials {
  username?: string;
  password?: string;
}

/** What `store.url` names. */
export interface RedisTarget extends Credentials {
  kind: 'single' | 'sentinel' | 'cluster';
  /** The server, the sentinels, or some nodes of the cluster. */
  nodes: readonly [Address, ...Address[]];
  database: number;
  /** Undefined: a bare connection. */
  tls: Tls | undefined;
  /** The group of servers that the sentinels watch. */
  master: string;
  /** Of the sentinels themselves. */
  sentinel: Credentials;
}

const URL_FORM = /^redis(s?)(-cluster|-sentinel)?:\/\/(?:([^@/]*)@)?([^/?]+)((?:\/[^/?]*)*)(?:\?(.*))?$/;

/**
 * `redis://user:password@host:6379/0`, `redis-cluster://a:6379,b:6379`, `redis-sentinel://s1:26379,s2:26379/name/0`;
 * each also as `rediss...` for TLS. Sentinels with a password of their own: `?sentinel_username=...&sentinel_password=...`.
 * @throws Error naming what is wrong, never the password.
 */
export function parseTarget(url: string, files: TlsFiles = {}): RedisTarget {
  const parts = URL_FORM.exec(url);
  if (!parts)
    throw new Error(
      'store.url: must be redis://host:port/db, redis-cluster://a:6379,b:6379 or redis-sentinel://s1:26379,s2:26379/name',
    );
  const [, secure = '', form = '', credentials = '', hosts = '', path = '', query = ''] = parts;
  // What stands behind the first of two @ is a piece of the password.
  if (/@/.test(hosts + path) || /%(?![0-9a-f]{2})/i.test(credentials + path))
    throw new Error('store.url: in user and password write @ as %40, / as %2F and % as %25');
  const kind = form === '-cluster' ? 'cluster' : form === '-sentinel' ? 'sentinel' : 'single';
  const [first, ...rest] = hosts.split(',').map((host) => parseAddress(host, kind === 'sentinel' ? 26_379 : 6379));
  if (!first || (kind === 'single' && rest.length > 0)) {
    throw new Error('store.url: redis:// names one host; several are redis-cluster:// or redis-sentinel://');
  }
  const segments = path.split('/').slice(1).map(decodeURIComponent);
  const master = kind === 'sentinel' ? (segments.shift() ?? '') : '';
  if (kind === 'sentinel' && master === '') {
    throw new Error(
      'store.url: redis-sentinel:// needs the name of the master: redis-sentinel://s1:26379,s2:26379/mymaster',
    );
  }
  const database = Number(segments[0] || 0);
  if (!Number.isInteger(database) || database < 0)
    throw new Error(`store.url: the database must be a number, not ${segments[0]}`);
  if (kind === 'cluster' && database !== 0) throw new Error('store.url: a Redis Cluster has database 0 only');
  const asked = new URLSearchParams(query);
  return {
    kind,
    nodes: [first, ...rest],
    database,
    master,
    tls: secure === '' ? undefined : readTls(files),
    ...parseCredentials(credentials),
    sentinel: credentialsOf(asked.get('sentinel_username') ?? '', asked.get('sentinel_password') ?? ''),
  };
}

function parseAddress(text: string, defaultPort: number): Address {
  const parts = /^(\[[^\]]+\]|[^:[\]]+)(?::(\d+))?$/.exec(text);
  if (!parts) throw new Error(`store.url: ${text} is not host:port`);
  return { host: (parts[1] ?? '').replace(/^\[|\]$/g, ''), port: Number(parts[2] ?? defaultPort) };
}

function parseCredentials(text: string): Credentials {
  const [username = '', ...password] = text.split(':');
  return credentialsOf(decodeURIComponent(username), decodeURIComponent(password.join(':')));
}

function credentialsOf(username: string, password: string): Credentials {
  return { ...(username !== '' && { username }), ...(password !== '' && { password }) };
}

function readTls({ caFile, certFile, keyFile, serverName }: TlsFiles): Tls {
  return {
    ...(caFile !== undefined && { ca: read('ca_file', caFile) }),
    ...(certFile !== undefined && { cert: read('cert_file', certFile) }),
    ...(keyFile !== undefined && { key: read('key_file', keyFile) }),
    ...(serverName !== undefined && { servername: serverName }),
  };
}

function read(name: string, path: string): Buffer {
  try {
    return readFileSync(path);
  } catch (cause) {
    throw new Error(`store.tls.${name}: ${path} cannot be read`, { cause });
  }
}

export function nameOf({ host, port }: Address): string {
  return host.includes(':') ? `[${host}]:${port}` : `${host}:${port}`;
}

export type Login = Credentials & Pick<RedisTarget, 'database' | 'tls'>;

/** The options of a client that all connections to a target share. */
export function clientOptions({ username, password, database, tls }: Login, address: Address) {
  return {
    ...(username !== undefined && { username }),
    ...(password !== undefined && { password }),
    database,
    // The library makes a class of clients for each new set of options, for 20 ms, and compares them as JSON.
    toJSON: () => 'research-gateway',
    socket: tls ? { ...address, ...tls, tls: true as const } : address,
  };
}
