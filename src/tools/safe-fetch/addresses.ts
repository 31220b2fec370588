import ipaddr from 'ipaddr.js';
import { isInNetworks, type Network, parseAddress } from '../../base/networks.ts';

/** Which addresses are allowed besides public ones. */
export interface AddressRule {
  /** Allows loopback, private, unique-local and carrier-grade addresses, but never link-local or metadata addresses. */
  allowPrivate: boolean;
  /** Further allowed networks, such as that of an internal wiki. */
  allowed: readonly Network[];
}

/** Ranges that `allowPrivate` allows; everything else that is not `unicast` stays refused. */
const PRIVATE_V4 = new Set(['loopback', 'private', 'carrierGradeNat']);
const PRIVATE_V6 = new Set(['loopback', 'uniqueLocal']);

/**
 * Cloud services that give a machine its credentials and are outside the link-local ranges, which are always refused.
 * Nothing allows them: neither `allowPrivate` nor a network in `allowed` that contains them.
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
  // Akamai (Linode), and other clouds that map 169.254.169.254 to IPv6
  'fd00:a9fe:a9fe::/48',
].map((network) => ipaddr.parseCIDR(network));

/** 2000::/3, the only IPv6 space that is allocated for the public internet (IANA IPv6 address space registry). */
const GLOBAL_V6: [ipaddr.IPv6, number] = [ipaddr.IPv6.parse('2000::'), 3];

/**
 * Whether a connection to `address` (an IP address as the resolver or the URL parser writes it) is allowed. Strings that
 * are no address, and IPv6 forms that carry an IPv4 address (mapped, compatible, NAT64, 6to4, Teredo), are refused:
 * `range() === 'unicast'` alone would allow `::127.0.0.1`.
 */
export function isAllowedAddress(address: string, rule: AddressRule): boolean {
  const parsed = parseAddress(address);
  if (!parsed || isInNetworks(parsed, METADATA)) return false;
  if (isInNetworks(parsed, rule.allowed)) return true;
  const range = parsed.range();
  if (parsed instanceof ipaddr.IPv4) return range === 'unicast' || (rule.allowPrivate && PRIVATE_V4.has(range));
  if (rule.allowPrivate && PRIVATE_V6.has(range)) return true;
  return range === 'unicast' && parsed.match(GLOBAL_V6);
}
