import type { IncomingMessage } from 'node:http';
import { GatewayError } from '../../base/errors.ts';

/**
 * Refuses a message whose end others may see elsewhere (RFC 9112, 6.1 and 3.2): a proxy before the gateway would take
 * what follows for another request. Node refuses the rest of such messages itself.
 * @throws GatewayError `invalid_parameter`.
 */
export function requireOneReading({ headers, httpVersion }: IncomingMessage): void {
  const encoding = headers['transfer-encoding'];
  if (encoding === undefined) return;
  if (httpVersion === '1.0' || encoding.toLowerCase() !== 'chunked') {
    throw new GatewayError('invalid_parameter', 'Transfer-Encoding: only "chunked" is read, in HTTP/1.1.', {
      param: 'Transfer-Encoding',
    });
  }
}
