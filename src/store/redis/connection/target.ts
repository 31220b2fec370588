import { readFileSync } from 'node:fs';
import { type Address, type Credentials, parseRedisUrl, type RedisUrl } from '../../../config/redis-url.ts';

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

/** What `store.url` names. */
export interface RedisTarget extends Omit<RedisUrl, 'isSecure'> {
  /** Undefined: a bare connection. */
  tls: Tls | undefined;
}

/** @throws Error naming what is wrong, as `parseRedisUrl` does, or the file of `store.tls` that cannot be read. */
export function parseTarget(url: string, files: TlsFiles = {}): RedisTarget {
  const { isSecure, ...target } = parseRedisUrl(url);
  return { ...target, tls: isSecure ? readTls(files) : undefined };
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
