import ipaddr from 'ipaddr.js';

/** What an address may be besides public. */
export interface AddressRule {
  /** Also loopback, private, unique-local and carrier-grade addresses. Never link-local or metadata addresses. */
  allowPrivate: boolean;
  /** Single networks that are open besides, such as the one of an internal wiki. */
  allowed: readonly Network[];
}

/** An address and the length of its network prefix. */
export type Network = [ipaddr.IPv4 | ipaddr.IPv6, number];

/**
 * Reads `10.1.2.0/24` or a single address.
 * @throws Error naming the text if it is neither.
 */
export function parseNetwork(text: string): Network {
  if (ipaddr.isValidCIDR(text)) return ipaddr.parseCIDR(text);
  const address = parse(text);
  if (!address) throw new Error(`"${text}" is neither an IP address nor a network such as 10.1.2.0/24.`);
  return [address, address.kind() === 'ipv4' ? 32 : 128];
}

/** IPv4 ranges that `allowPrivate` opens; everything else that is not `unicast` stays closed. */
const PRIVATE_V4 = new Set(['loopback', 'private', 'carrierGradeNat']);
const PRIVATE_V6 = new Set(['loopback', 'uniqueLocal']);

/** Metadata services of clouds that live outside the link-local ranges (Alibaba, AWS over IPv6). */
const METADATA = new Set(['100.100.100.200', 'fd00:ec2::254']);

/** 2000::/3, the only IPv6 space that is handed out for the public internet (IANA IPv6 address space registry). */
const GLOBAL_V6: [ipaddr.IPv6, number] = [ipaddr.IPv6.parse('2000::'), 3];

/**
 * Whether a connection to `address` (an IP address as the resolver or the URL parser writes it) is allowed.
 * Anything that is not an address, and IPv6 forms that carry an IPv4 address (mapped, compatible, NAT64, 6to4,
 * Teredo), is refused: `range() === 'unicast'` alone lets `::127.0.0.1` through.
 */
export function isAllowedAddress(address: string, rule: AddressRule): boolean {
  const parsed = parse(address);
  if (!parsed) return false;
  if (rule.allowed.some(([network, bits]) => network.kind() === parsed.kind() && parsed.match(network, bits)))
    return true;
  if (METADATA.has(parsed.toString())) return false;
  const range = parsed.range();
  if (parsed instanceof ipaddr.IPv4) return range === 'unicast' || (rule.allowPrivate && PRIVATE_V4.has(range));
  if (rule.allowPrivate && PRIVATE_V6.has(range)) return true;
  return range === 'unicast' && parsed.match(GLOBAL_V6);
}

/** Strict parsing: four decimal parts or RFC 4291 text, no octal, hexadecimal or short forms, no zone. */
function parse(address: string): ipaddr.IPv4 | ipaddr.IPv6 | undefined {
  if (ipaddr.IPv4.isValidFourPartDecimal(address)) return ipaddr.IPv4.parse(address);
  if (!address.includes('%') && ipaddr.IPv6.isValid(address)) return ipaddr.IPv6.parse(address);
  return undefined;
}
