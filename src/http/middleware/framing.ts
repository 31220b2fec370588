import type { IncomingMessage } from 'node:http';
import { fieldError } from '../../base/errors.ts';

/**
 * Refuses a message that others may read in another way (RFC 9112, 6.1 and 3.2): one whose end they may see elsewhere, so
 * that a proxy before the gateway would take what follows for another request, and one for two hosts. Node refuses the
 * rest of such messages itself.
 * @throws GatewayError `invalid_parameter`.
 */
export function requireOneReading(req: IncomingMessage): void {
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
 * Whether a header came more than once. Node keeps the first of several and says nothing; which of them a proxy in front of
 * the gateway looked at is not known here.
 * @param name in lower case.
 */
export function isRepeated({ rawHeaders }: Pick<IncomingMessage, 'rawHeaders'>, name: string): boolean {
  let seen = 0;
  for (let at = 0; at < rawHeaders.length; at += 2) {
    if (rawHeaders[at]?.length === name.length && rawHeaders[at]?.toLowerCase() === name) seen++;
  }
  return seen > 1;
}
