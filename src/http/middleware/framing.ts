import type { IncomingMessage } from 'node:http';
import { fieldError } from '../../base/errors.ts';

/**
 * Refuses ambiguous messages (RFC 9112, 6.1 and 3.2): one whose end a proxy in front of the gateway may see elsewhere, so
 * that it would take the rest for another request (request smuggling), and one for two hosts. Node refuses all other
 * ambiguous messages itself.
 * @throws GatewayError `invalid_parameter`.
 */
export function refuseAmbiguity(req: IncomingMessage): void {
  const { headers, httpVersion } = req;
  if (isRepeated(req, 'host')) {
    throw fieldError('invalid_parameter', 'Host', 'send this header once.');
  }
  const encoding = headers['transfer-encoding'];
  if (encoding === undefined) return;
  if (httpVersion === '1.0' || encoding.toLowerCase() !== 'chunked') {
    throw fieldError('invalid_parameter', 'Transfer-Encoding', 'only "chunked" is read, in HTTP/1.1.');
  }
}

/**
 * Whether a header was sent more than once. Node silently keeps the first one, but a proxy in front of the gateway may have
 * used another.
 * @param name in lower case.
 */
export function isRepeated({ rawHeaders }: Pick<IncomingMessage, 'rawHeaders'>, name: string): boolean {
  let count = 0;
  for (let at = 0; at < rawHeaders.length; at += 2) {
    if (rawHeaders[at]?.length === name.length && rawHeaders[at]?.toLowerCase() === name) count++;
  }
  return count > 1;
}
