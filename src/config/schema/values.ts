import { z } from 'zod';
import { parseHost } from '../../base/hosts.ts';
import { withoutTrailing } from '../../base/text.ts';

/** Values that several sections of the configuration file use. */

export const name = z.string().regex(/^[\w.:@/-]{1,128}$/, 'must be 1 to 128 letters, digits or . _ : @ / -');
/** The name of a section. Looking up one that every JavaScript object inherits would find a function. */
export const sectionName = name.refine((text) => !(text in Object.prototype), {
  error: 'is a name that every JavaScript object has: choose another one',
});
export const httpUrl = z
  .url({ protocol: /^https?$/, error: 'must be an http or https URL' })
  .refine((url) => !/^https?:\/\/[^/?#]*@/i.test(url), {
    error: 'must not hold a user or password: URLs are shown in logs; credentials have keys of their own',
  })
  .transform((url) => withoutTrailing(url, '/'));
/** A credential that is valid as the value of a header. */
export const credential = z.string().regex(/^[\x21-\x7e]+$/, 'must be printable ASCII without spaces, and not empty');
/** Headers that frame messages are excluded: a wrong one would fail every request. */
export const headerName = z
  .string()
  .regex(/^[\w!#$%&'*+.^`|~-]+$/, 'is not a header name')
  .regex(
    /^(?!(?:connection|content-length|expect|keep-alive|te|trailer|transfer-encoding|upgrade)$)/i,
    'is a header that the gateway sets itself',
  );
/** A line break would fail every request. */
export const headerValue = z.string().regex(/^[\t\x20-\x7e\x80-\xff]*$/, 'must be one line of Latin characters');
export const headers = z.record(headerName, headerValue);
/** Rules about hosts, each with its subdomains. What names no host would match none, and a port or path would be ignored. */
export const hosts = z.array(
  z.string().transform((text, context) => {
    const host = parseHost(text);
    if (host !== undefined) return host;
    context.addIssue({ code: 'custom', message: 'must be a host such as example.org, without port and path' });
    return z.NEVER;
  }),
);
