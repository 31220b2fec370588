import type { KeyConfig } from '../config/schema.ts';
import { secretHash } from '../config/secrets.ts';

/** How often a value may be percent-encoded over. */
const MAX_DECODINGS = 3;

/**
 * What of a request's target a provider gets: the path after `/v1`, and the query byte for byte, less parameters whose
 * value is the caller's own gateway secret (docs/api.md, "Errors").
 */
export function providerPath(target: string, key: KeyConfig): string {
  const path = target.slice('/v1'.length);
  const mark = path.indexOf('?');
  if (mark === -1) return path;
  const pairs = path.slice(mark + 1).split('&');
  // What follows the name; a parameter without a value is taken for one.
  const kept = pairs.filter((pair) => !isSecret(pair.slice(pair.indexOf('=') + 1), key));
  if (kept.length === pairs.length) return path;
  return kept.length === 0 ? path.slice(0, mark) : `${path.slice(0, mark)}?${kept.join('&')}`;
}

function isSecret(value: string, key: KeyConfig): boolean {
  let read = value;
  for (let decodings = 0; read !== ''; decodings++) {
    const shown = read.replace(/^bearer[ +]/i, '');
    if (key.secret === undefined ? secretHash({ secret: shown }) === secretHash(key) : shown === key.secret)
      return true;
    const decoded = decodings < MAX_DECODINGS ? bytesDecoded(read) : read;
    if (decoded === read) return false;
    read = decoded;
  }
  return false;
}

/** Byte by byte: keys are ASCII, and what is not valid UTF-8 is decoded too. `+` is itself in a key. */
function bytesDecoded(text: string): string {
  return text.replace(/%([\dA-Fa-f]{2})/g, (_, hex: string) => String.fromCharCode(Number.parseInt(hex, 16)));
}
