import type { IncomingMessage } from 'node:http';
import ipaddr from 'ipaddr.js';

type Address = ipaddr.IPv4 | ipaddr.IPv6;

/** An address and the length of its network prefix. */
export type Network = [Address, number];

/** `[2001:db8::1]:443` or `203.0.113.9:443`; brackets may stand alone. */
const WITH_PORT = /^(?:\[([^\]]*)\](?::\d+)?|([\d.]+):\d+)$/;

/** What stands before an IPv4 address in an IPv6 one that holds it, in bits. */
const MAPPED_BITS = 96;

/** Names of networks that `server.trust_proxy` may hold, those of Express. */
const NAMED: Readonly<Record<string, readonly string[]>> = {
  loopback: ['127.0.0.0/8', '::1/128'],
  linklocal: ['169.254.0.0/16', 'fe80::/10'],
  uniquelocal: ['10.0.0.0/8', '172.16.0.0/12', '192.168.0.0/16', 'fc00::/7'],
};

/**
 * Reads `10.1.2.0/24` or a single address. IPv4 that is written as IPv6 is IPv4, as it is in `clientAddress`.
 * @throws Error naming the text if it is neither.
 */
export function parseNetwork(text: string): Network {
  const network = readNetwork(text);
  if (!network) throw new Error(`"${text}" is neither an IP address nor a network such as 10.1.2.0/24.`);
  return network;
}

/** Whether `parseNetwork` reads it. */
export function isNetwork(text: string): boolean {
  return readNetwork(text) !== undefined;
}

/** Strict as `parseAddress` is: `10.1/16` would be 10.0.0.1/16. */
function readNetwork(text: string): Network | undefined {
  const [written = '', length, ...rest] = text.split('/');
  const address = parseAddress(written);
  if (!address || rest.length > 0) return undefined;
  const most = address.kind() === 'ipv4' ? 32 : 128;
  const bits = length === undefined ? most : Number(/^\d{1,3}$/.test(length) ? length : Number.NaN);
  if (!(bits <= most)) return undefined;
  const inner = plain(address);
  return inner === address || bits < MAPPED_BITS ? [address, bits] : [inner, bits - MAPPED_BITS];
}

/** Whether `clientAddress` takes it as a trusted proxy. */
export function isProxyNetwork(text: string): boolean {
  return NAMED[text] !== undefined || isNetwork(text);
}

/** Strict parsing: four decimal parts or RFC 4291 text, no octal, hexadecimal or short forms, no zone. */
export function parseAddress(address: string): Address | undefined {
  if (ipaddr.IPv4.isValidFourPartDecimal(address)) return ipaddr.IPv4.parse(address);
  if (!address.includes('%') && ipaddr.IPv6.isValid(address)) return ipaddr.IPv6.parse(address);
  return undefined;
}

export function isWithin(address: Address, networks: readonly Network[]): boolean {
  return networks.some(([network, bits]) => network.kind() === address.kind() && address.match(network, bits));
}

/**
 * Where a request comes from: the address of its connection, or, where that is a trusted proxy, the last one in
 * `X-Forwarded-For` that is not one; some proxies write its port, too. Undefined where that is no address. An IPv4 address
 * that a socket shows as IPv6 is the IPv4 address.
 */
export function clientAddress(
  { socket, headers }: Pick<IncomingMessage, 'socket' | 'headers'>,
  trusted: readonly string[],
): Address | undefined {
  const proxies = trusted.flatMap((text) => (NAMED[text] ?? [text]).map(parseNetwork));
  const forwarded = String(headers['x-forwarded-for'] ?? '');
  const told = [...forwarded.split(',').filter((part) => part.trim() !== ''), socket.remoteAddress ?? ''].reverse();
  let address: Address | undefined;
  for (const text of told) {
    const [, bracketed, before] = WITH_PORT.exec(text.trim()) ?? [];
    const parsed = parseAddress((bracketed ?? before ?? text).trim().split('%', 1)[0] ?? '');
    address = parsed && plain(parsed);
    if (!address || !isWithin(address, proxies)) return address;
  }
  return address;
}

function plain(address: Address): Address {
  return address instanceof ipaddr.IPv6 && address.isIPv4MappedAddress() ? address.toIPv4Address() : address;
}
