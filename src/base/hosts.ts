import { isIPv6 } from 'node:net';
import { withoutTrailing } from './text.ts';

/** The host of `example.org`, `*.example.org`, `https://example.org/` or an IP address, as `URL` writes it; else undefined. */
export function parseHost(text: string): string | undefined {
  const bare = text
    .trim()
    .replace(/^https?:\/\//i, '')
    .replace(/^\*?\./, '');
  const url = bare === '' || bare.length > 300 ? null : URL.parse(`http://${isIPv6(bare) ? `[${bare}]` : bare}`);
  const isHost = url?.href === `${url?.origin}/` && url.port === '' && /^[\w.:[\]-]+$/.test(url.hostname);
  return isHost ? url?.hostname : undefined;
}

/** Normalises the host of a rule to the form that `URL` uses: lower case, punycode, no `*.`, no trailing dot. */
export function normaliseHost(host: string): string {
  const bare = host
    .trim()
    .replace(/^\*?\./, '')
    .replace(/\.$/, '')
    .toLowerCase();
  const parsed = URL.parse(`http://${bare}/`);
  return parsed ? parsed.hostname.replace(/\.$/, '') : bare;
}

/** Longer addresses are of no use, in UTF-16 code units. */
const LONGEST_ADDRESS = 4000;

/**
 * The address of a page that a service names, safe to show; undefined if it is no web address, or has a user name, because
 * `https://bank.example@evil.example` reads like another one.
 */
export function pageAddress(written: string): string | undefined {
  const url = written.length > LONGEST_ADDRESS ? null : URL.parse(written);
  if (!url || !/^https?:$/.test(url.protocol) || url.username !== '' || url.password !== '') return undefined;
  return shownAddress(written);
}

/**
 * A web address as every program reads it. Backslashes, white space and invisible characters, other spellings of a host
 * (`http:/host`, `%65xample.org`, `0x7f.1`, letters of other scripts, a final dot) and `..` lead some programs elsewhere
 * than others, and readers too. Anything that is not such an address stays as it is.
 */
export function shownAddress(written: string): string {
  const url = URL.parse(written);
  if (!url || !/^https?:$/.test(url.protocol)) return written;
  const host = withoutTrailing(url.hostname, '.');
  if (host !== '' && host !== url.hostname) url.hostname = host;
  const rest = written.startsWith(url.origin) ? written.slice(url.origin.length) : undefined;
  return rest !== undefined && PLAIN_REST.test(rest) && !DOT_SEGMENT.test(rest) ? written : url.href;
}

/** What may follow the origin of an address that is read in one way. */
const PLAIN_REST = /^(?:[/?#][^\s\\\p{C}]*)?$/u;
const DOT_SEGMENT = /\/(?:\.|%2e){1,2}(?:[/?#]|$)/i;

/** Whether `host` is one of `rules` or a subdomain of one. */
export function matchesHost(host: string, rules: readonly string[]): boolean {
  const wanted = host.toLowerCase().replace(/\.$/, '');
  return rules.some((rule) => {
    const normalised = normaliseHost(rule);
    return normalised !== '' && (wanted === normalised || wanted.endsWith(`.${normalised}`));
  });
}
