import type { IncomingMessage } from 'node:http';

/**
 * Whether a header came more than once. Node keeps the first of several and says nothing; which of them a proxy in front of
 * the gateway looked at is not known here.
 * @param name in lower case.
 */
export function isRepeated({ rawHeaders }: IncomingMessage, name: string): boolean {
  let seen = 0;
  for (let at = 0; at < rawHeaders.length; at += 2) {
    if (rawHeaders[at]?.length === name.length && rawHeaders[at]?.toLowerCase() === name) seen++;
  }
  return seen > 1;
}
