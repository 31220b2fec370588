import type { KeyConfig } from '../config/schema.ts';
import { secretHash } from '../config/secrets.ts';

/** How many layers of percent-encoding are removed. */
const MAX_DECODINGS = 3;

/**
 * The part of a request's target that a provider gets: the path after `/v1`, and the query byte for byte without
 * parameters whose value is the caller's own gateway secret (docs/api.md, "Errors").
 */
export function providerPath(target: string, key: KeyConfig): string {
  const path = target.slice('/v1'.length);
  const mark = path.indexOf('?');
  if (mark === -1) return path;
  const pairs = path.slice(mark + 1).split('&');
  // Without `=` the whole parameter counts as a value.
  const remaining = pairs.filter((pair) => !isSecret(pair.slice(pair.indexOf('=') + 1), key));
  if (remaining.length === pairs.length) return path;
  return remaining.length === 0 ? path.slice(0, mark) : `${path.slice(0, mark)}?${remaining.join('&')}`;
}

function isSecret(value: string, key: KeyConfig): boolean {
  let text = value;
  for (let decodings = 0; text !== ''; decodings++) {
    const secret = text.replace(/^bearer[ +]/i, '');
    if (key.secret === undefined ? secretHash({ secret }) === secretHash(key) : secret === key.secret) return true;
    const decoded = decodings < MAX_DECODINGS ? decodeBytes(text) : text;
    if (decoded === text) return false;
    text = decoded;
  }
  return false;
}

/** Decodes byte by byte, so that invalid UTF-8 is decoded too; keys are ASCII. A `+` stays one, because keys may contain it. */
function decodeBytes(text: string): string {
  return text.replace(/%([\dA-Fa-f]{2})/g, (_, hex: string) => String.fromCharCode(Number.parseInt(hex, 16)));
}
