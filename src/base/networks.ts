import type { IncomingMessage } from 'node:http';
import ipaddr from 'ipaddr.js';

type Address = ipaddr.IPv4 | ipaddr.IPv6;

/** An address and the length of its network prefix. */
export type Network = [Address, number];

/** `[2001:db8::1]:443` or `203.0.113.9:443`; brackets may come without a port. */
const WITH_PORT = /^(?:\[([^\]]*)\](?::\d+)?|([\d.]+):\d+)$/;

/** The prefix before the IPv4 address in an IPv4-mapped IPv6 address, in bits. */
const MAPPED_BITS = 96;

/** Names that `server.trust_proxy` takes for networks, the same as Express's. */
const NAMED: Readonly<Record<string, readonly string[]>> = {
  loopback: ['127.0.0.0/8', '::1/128'],
  linklocal: ['169.254.0.0/16', 'fe80::/10'],
  uniquelocal: ['10.0.0.0/8', '172.16.0.0/12', '192.168.0.0/16', 'fc00::/7'],
};

/**
 * Parses `10.1.2.0/24` or a single address. IPv4-mapped IPv6 counts as IPv4, as in `clientAddress`.
 * @throws Error quoting the text if it is neither.
 */
export function parseNetwork(text: string): Network {
  const network = readNetwork(text);
  if (!network) throw new Error(`"${text}" is neither an IP address nor a network such as 10.1.2.0/24.`);
  return network;
}

/** Whether `parseNetwork` accepts the text. */
export function isNetwork(text: string): boolean {
  return readNetwork(text) !== undefined;
}

/** As strict as `parseAddress`: other parsers take `10.1/16` for 10.0.0.1/16. */
function readNetwork(text: string): Network | undefined {
  const [written = '', length, ...rest] = text.split('/');
  const address = parseAddress(written);
  if (!address || rest.length > 0) return undefined;
  const maxBits = address.kind() === 'ipv4' ? 32 : 128;
  const bits = length === undefined ? maxBits : Number(/^\d{1,3}$/.test(length) ? length : Number.NaN);
  if (!(bits <= maxBits)) return undefined;
  const inner = unmapped(address);
  return inner === address || bits < MAPPED_BITS ? [address, bits] : [inner, bits - MAPPED_BITS];
}

/** Whether `clientAddress` accepts the text as a trusted proxy. */
export function isProxyNetwork(text: string): boolean {
  return Object.hasOwn(NAMED, text) || isNetwork(text);
}

/** Parses an address strictly: four decimal parts or RFC 4291 text; no octal, hexadecimal or short forms, no zone. */
export function parseAddress(address: string): Address | undefined {
  if (ipaddr.IPv4.isValidFourPartDecimal(address)) return ipaddr.IPv4.parse(address);
  if (!address.includes('%') && ipaddr.IPv6.isValid(address)) return ipaddr.IPv6.parse(address);
  return undefined;
}

export function isInNetworks(address: Address, networks: readonly Network[]): boolean {
  return networks.some(([network, bits]) => network.kind() === address.kind() && address.match(network, bits));
}

/**
 * The address that a request comes from: that of its connection or, behind trusted proxies, the last address in
 * `X-Forwarded-For` that is not a trusted proxy. Some proxies append the port. Undefined if that is not an address.
 * IPv4-mapped IPv6 addresses are returned as IPv4.
 */
export function clientAddress(
  { socket, headers }: Pick<IncomingMessage, 'socket' | 'headers'>,
  trusted: readonly string[],
): Address | undefined {
  const proxies = trusted.flatMap((text) => (NAMED[text] ?? [text]).map(parseNetwork));
  const forwarded = String(headers['x-forwarded-for'] ?? '');
  const hops = [...forwarded.split(',').filter((part) => part.trim() !== ''), socket.remoteAddress ?? ''].reverse();
  let address: Address | undefined;
  for (const text of hops) {
    const [, bracketed, before] = WITH_PORT.exec(text.trim()) ?? [];
    const parsed = parseAddress((bracketed ?? before ?? text).trim().split('%', 1)[0] ?? '');
    address = parsed && unmapped(parsed);
    if (!address || !isInNetworks(address, proxies)) return address;
  }
  return address;
}

function unmapped(address: Address): Address {
  return address instanceof ipaddr.IPv6 && address.isIPv4MappedAddress() ? address.toIPv4Address() : address;
}
