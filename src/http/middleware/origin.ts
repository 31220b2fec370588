import type { IncomingHttpHeaders } from 'node:http';
import { GatewayError } from '../../base/errors.ts';
import { acceptedDefaultKey } from '../../config/keyring.ts';
import type { GatewayConfig } from '../../config/schema.ts';

/**
 * Protects a gateway that accepts the well-known default key, which any web page could otherwise use through the browser of
 * a user of this machine, directly or by DNS rebinding. `Host` must name loopback, and a browser's `Origin` must be the
 * gateway's own or one of `server.cors_origins` (docs/operating.md, "Starting"). With a key of one's own neither is checked,
 * because reverse proxies send other hosts.
 * @throws GatewayError `origin_not_allowed`.
 */
export function checkOrigin({ host, origin }: IncomingHttpHeaders, config: GatewayConfig): void {
  if (acceptedDefaultKey(config) === undefined) return;
  // Browsers always send `Host`.
  if (host !== undefined && !LOOPBACK.test(host)) {
    throw refused('the host of its address must be localhost, 127.0.0.1 or [::1]');
  }
  const allowed = config.server.cors_origins;
  if (origin === undefined || allowed.includes('*') || allowed.includes(origin)) return;
  if (host === undefined || (origin !== `http://${host}` && origin !== `https://${host}`)) {
    throw refused('the page that sent it is not of the gateway: add its origin to server.cors_origins');
  }
}

const LOOPBACK = /^(?:localhost\.?|127(?:\.\d{1,3}){3}|\[::1\])(?::\d{1,5})?$/i;

function refused(what: string): GatewayError {
  const message = `The gateway accepts the well-known key, so it answers requests of this machine only: ${what}.`;
  return new GatewayError('origin_not_allowed', `${message} Or set a key of your own (GATEWAY_API_KEY).`);
}
