import ipaddr from 'ipaddr.js';
import { isWithin, type Network, parseAddress } from '../../base/networks.ts';

/** What an address may be besides public. */
export interface AddressRule {
  /** Also loopback, private, unique-local and carrier-grade addresses. Never link-local or metadata addresses. */
  allowPrivate: boolean;
  /** Single networks that are open besides, such as the one of an internal wiki. */
  allowed: readonly Network[];
}

/** IPv4 ranges that `allowPrivate` opens; everything else that is not `unicast` stays closed. */
const PRIVATE_V4 = new Set(['loopback', 'private', 'carrierGradeNat']);
const PRIVATE_V6 = new Set(['loopback', 'uniqueLocal']);

/**
 * Services of clouds that tell a machine its credentials and live outside the link-local ranges, which are closed as a
 * whole. Nothing opens them: neither `allowPrivate` nor a network in `allowed` that happens to hold them.
 */
const METADATA: readonly Network[] = [
  // Azure: the wire server
  '168.63.129.16/32',
  // Alibaba Cloud
  '100.100.100.200/32',
  // Oracle Cloud, classic
  '192.0.0.192/32',
  // AWS: metadata, name server, time, pod identity
  'fd00:ec2::/32',
  // Google Cloud
  'fd20:ce::/32',
  // Scaleway
  'fd00:42::42/128',
  // Akamai (Linode), and clouds that map 169.254.169.254 so
  'fd00:a9fe:a9fe::/48',
].map((network) => ipaddr.parseCIDR(network));

/** 2000::/3, the only IPv6 space that is handed out for the public internet (IANA IPv6 address space registry). */
const GLOBAL_V6: [ipaddr.IPv6, number] = [ipaddr.IPv6.parse('2000::'), 3];

/**
 * Whether a connection to `address` (an IP address as the resolver or the URL parser writes it) is allowed.
 * Anything that is not an address, and IPv6 forms that carry an IPv4 address (mapped, compatible, NAT64, 6to4,
 * Teredo), is refused: `range() === 'unicast'` alone lets `::127.0.0.1` through.
 */
export function isAllowedAddress(address: string, rule: AddressRule): boolean {
  const parsed = parseAddress(address);
  if (!parsed || isWithin(parsed, METADATA)) return false;
  if (isWithin(parsed, rule.allowed)) return true;
  const range = parsed.range();
  if (parsed instanceof ipaddr.IPv4) return range === 'unicast' || (rule.allowPrivate && PRIVATE_V4.has(range));
  if (rule.allowPrivate && PRIVATE_V6.has(range)) return true;
  return range === 'unicast' && parsed.match(GLOBAL_V6);
}
