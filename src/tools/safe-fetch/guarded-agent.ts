import type { LookupAddress } from 'node:dns';
import { lookup } from 'node:dns/promises';
import { isIP, type LookupFunction } from 'node:net';
import { Agent, buildConnector } from 'undici';
import { ToolError } from '../tool.ts';
import { type AddressRule, isAllowedAddress } from './addresses.ts';

/** Time limits of one exchange, in milliseconds; 0 means none. */
export interface ExchangeTimeouts {
  connectMs: number;
  headersMs: number;
  /** The longest silence between two chunks of a body. */
  idleMs: number;
}

export interface GuardedAgentOptions {
  addresses: AddressRule;
  timeouts: ExchangeTimeouts;
  /** The most connections to one origin; further requests wait for one. Default 16. */
  connections?: number | undefined;
  /** All addresses of a name; by default those that the system's resolver gives. */
  resolve?: ((hostname: string) => Promise<LookupAddress[]>) | undefined;
}

/**
 * Creates an HTTP agent that connects only to allowed addresses. It checks them when it opens the socket: it connects to
 * the very addresses that it checked, so a name that resolves differently a moment later (DNS rebinding) gains nothing.
 * An `Agent` ignores the proxies of the environment.
 */
export function createGuardedAgent(options: GuardedAgentOptions): Agent {
  const { addresses, timeouts } = options;
  const connect = buildConnector({
    timeout: timeouts.connectMs,
    allowH2: false,
    autoSelectFamily: true,
    lookup: guardedLookup(options),
  });
  return new Agent({
    headersTimeout: timeouts.headersMs,
    bodyTimeout: timeouts.idleMs,
    connections: options.connections ?? 16,
    connect(target, callback) {
      const host = target.hostname.replace(/^\[(.*)\]$/, '$1');
      // Node connects to IP literals without a lookup.
      if (isIP(host) !== 0 && !isAllowedAddress(host, addresses)) callback(blockedAddress(host), null);
      else connect(target, callback);
    },
  });
}

/** A lookup for `net.connect` that fails if any address of a name is not allowed. */
function guardedLookup(options: GuardedAgentOptions): LookupFunction {
  const { resolve = (hostname: string) => lookup(hostname, { all: true }) } = options;
  return (hostname, lookupOptions, callback) => {
    resolve(hostname).then(
      (found) => {
        const refused = found.find((entry) => !isAllowedAddress(entry.address, options.addresses));
        const [first] = found;
        if (refused) callback(blockedAddress(hostname), '', 0);
        else if (!first) callback(new ToolError('unreachable', `The name ${hostname} has no address.`), '', 0);
        else if (lookupOptions.all) callback(null, found);
        else callback(null, first.address, first.family);
      },
      (error: Error) => callback(error, '', 0),
    );
  };
}

/** The message omits the address: outsiders must not learn what an internal name resolves to. */
function blockedAddress(host: string): ToolError {
  return new ToolError('blocked_address', `The host ${host} is not on the public internet and is not fetched.`);
}
