import { z } from 'zod';
import { withoutTrailing } from '../../base/text.ts';

/** Values that several sections of the configuration file have. */

export const name = z.string().regex(/^[\w.:@/-]{1,128}$/, 'must be 1 to 128 letters, digits or . _ : @ / -');
export const httpUrl = z
  .url({ protocol: /^https?$/, error: 'must be an http or https URL' })
  .refine((url) => !/^https?:\/\/[^/?#]*@/i.test(url), {
    error: 'must not hold a user or password: URLs are shown in logs; use api_key or headers',
  })
  .transform((url) => withoutTrailing(url, '/'));
/** A credential as it can stand in a header. */
export const credential = z.string().regex(/^[\x21-\x7e]+$/, 'must be printable ASCII without spaces, and not empty');
export const headerName = z.string().regex(/^[\w!#$%&'*+.^`|~-]+$/, 'is not a header name');
export const headers = z.record(headerName, z.string());
