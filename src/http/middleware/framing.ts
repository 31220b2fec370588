import type { IncomingMessage } from 'node:http';
import { GatewayError } from '../../base/errors.ts';
import { isRepeated } from './repeated.ts';

/**
 * Refuses a message that others may read in another way (RFC 9112, 6.1 and 3.2): one whose end they may see elsewhere, so
 * that a proxy before the gateway would take what follows for another request, and one for two hosts. Node refuses the
 * rest of such messages itself.
 * @throws GatewayError `invalid_parameter`.
 */
export function requireOneReading(req: IncomingMessage): void {
  const { headers, httpVersion } = req;
  if (isRepeated(req, 'host')) {
    throw new GatewayError('invalid_parameter', 'Host: send this header once.', { param: 'Host' });
  }
  const encoding = headers['transfer-encoding'];
  if (encoding === undefined) return;
  if (httpVersion === '1.0' || encoding.toLowerCase() !== 'chunked') {
    throw new GatewayError('invalid_parameter', 'Transfer-Encoding: only "chunked" is read, in HTTP/1.1.', {
      param: 'Transfer-Encoding',
    });
  }
}
