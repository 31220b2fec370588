import { readFileSync } from 'node:fs';
import { type Address, type Credentials, parseRedisUrl, type RedisUrl } from '../../../config/redis-url.ts';

/** PEM files for TLS. */
export interface TlsFiles {
  /** Certificates of the authorities to trust, in place of the system's. */
  caFile?: string | undefined;
  /** The client certificate and its key, if Redis asks for one. */
  certFile?: string | undefined;
  keyFile?: string | undefined;
  /** The name that certificates must have, if they do not contain the addresses under which nodes are found. */
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
  /** Undefined: a connection without TLS. */
  tls: Tls | undefined;
}

/** @throws Error as `parseRedisUrl`, or naming the file of `store.tls` that cannot be read. */
export function parseTarget(url: string, files: TlsFiles = {}): RedisTarget {
  const { isSecure, ...target } = parseRedisUrl(url);
  return { ...target, tls: isSecure ? readTls(files) : undefined };
}

function readTls({ caFile, certFile, keyFile, serverName }: TlsFiles): Tls {
  return {
    ...(caFile !== undefined && { ca: readTlsFile('ca_file', caFile) }),
    ...(certFile !== undefined && { cert: readTlsFile('cert_file', certFile) }),
    ...(keyFile !== undefined && { key: readTlsFile('key_file', keyFile) }),
    ...(serverName !== undefined && { servername: serverName }),
  };
}

function readTlsFile(name: string, path: string): Buffer {
  try {
    return readFileSync(path);
  } catch (cause) {
    throw new Error(`store.tls.${name}: ${path} cannot be read`, { cause });
  }
}

export function formatAddress({ host, port }: Address): string {
  return host.includes(':') ? `[${host}]:${port}` : `${host}:${port}`;
}

export type Login = Credentials & Pick<RedisTarget, 'database' | 'tls'>;

interface ClientOptions {
  username?: string;
  password?: string;
  database: number;
  toJSON(): string;
  socket: Address | (Address & Tls & { tls: true; signal: AbortSignal });
}

/** The client options that all connections to a target share. */
export function clientOptions({ username, password, database, tls }: Login, address: Address): ClientOptions {
  return {
    ...(username !== undefined && { username }),
    ...(password !== undefined && { password }),
    database,
    // The library creates a client class for each new set of options, which takes 20 ms, and compares them as JSON.
    toJSON: () => 'research-gateway',
    // With a signal, sockets keep a listener for errors. The library forgets theirs after the first one, although a refused
    // certificate comes twice, as an alert and as a reset: the second would end the process.
    socket: tls ? { ...address, ...tls, tls: true, signal: new AbortController().signal } : address,
  };
}
