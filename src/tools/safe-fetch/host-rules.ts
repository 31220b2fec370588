import { matchesHost } from '../../base/hosts.ts';
import { ToolError } from '../tool.ts';

/** Which hosts may be contacted. A rule `example.com` includes its subdomains. */
export interface HostRules {
  /** Empty: all hosts. */
  allowHosts: readonly string[];
  /** Wins over `allowHosts`. */
  denyHosts: readonly string[];
  /** The only domains that the client's request allows; empty: all hosts. */
  requestedHosts: readonly string[];
}

/** Names of this machine or its network, whatever they resolve to. */
const LOCAL_NAMES = ['localhost', 'local', 'internal', 'localdomain', 'home.arpa', 'intranet', 'lan'];

/**
 * Checks a URL before its host name is resolved.
 * @throws ToolError `invalid_url` or `blocked_host`.
 */
export function checkUrl(url: URL, rules: HostRules & { allowLocalNames: boolean }): void {
  if (url.protocol !== 'http:' && url.protocol !== 'https:') {
    throw new ToolError('invalid_url', `Only http and https addresses can be fetched, not ${url.protocol}//`);
  }
  if (url.username || url.password) {
    throw new ToolError('invalid_url', 'Addresses with a user name or password are not fetched.');
  }
  const host = url.hostname;
  if (matchesHost(host, rules.denyHosts)) throw blockedHost(host, 'is on the deny list');
  if (rules.allowHosts.length > 0 && !matchesHost(host, rules.allowHosts))
    throw blockedHost(host, 'is not on the allow list');
  checkRequested(host, rules.requestedHosts);
  if (!rules.allowLocalNames && matchesHost(host, LOCAL_NAMES)) throw blockedHost(host, 'is a local name');
}

/**
 * Checks a host, or `corpus` for documents, against the domains that a request allows and denies.
 * @throws ToolError `blocked_host`.
 */
export function checkRequested(host: string, requested: readonly string[], denied: readonly string[] = []): void {
  if (matchesHost(host, denied)) throw blockedHost(host, 'is on the deny list');
  if (requested.length === 0 || matchesHost(host, requested)) return;
  const listed = requested.slice(0, 10).join(', ') + (requested.length > 10 ? ', ...' : '');
  throw new ToolError('blocked_host', `${host} is not among the domains that may be read for this request: ${listed}.`);
}

function blockedHost(host: string, why: string): ToolError {
  return new ToolError('blocked_host', `The host ${host} ${why}.`);
}
