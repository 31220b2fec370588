import { isUtf8 } from 'node:buffer';
import { GatewayError } from '../../base/errors.ts';
import { withoutTrailing } from '../../base/text.ts';

/**
 * Request targets: what a client asked for, checked once, and where that is at a provider. Everything that goes to a
 * provider under the operator's credential gets its address here, whatever road it takes.
 */

/** The longest target, in bytes (docs/api.md, "Errors"). */
const MAX_TARGET = 8 * 1024;

/** RFC 3986: the bytes of a path, and those of a query; `[` and `]` in a query are taken, too. */
const PATH = /^\/(?:[\w.~!$&'()*+,;=:@/-]|%[\dA-Fa-f]{2})*$/;
const QUERY = /^(?:[\w.~!$&'()*+,;=:@/?[\]-]|%[\dA-Fa-f]{2})*$/;
/** What stands before the path in the absolute form of a target (RFC 9112, 3.2.2). */
const ORIGIN = /^https?:\/\/[\w.~[\]:%-]+(?=[/?]|$)/i;

/**
 * A request target in origin form, such as `/v1/models?limit=2`: the origin of an absolute target is left out, repeated
 * slashes of the path count as one, the query stays byte for byte.
 * @throws GatewayError `invalid_request_target` for a fragment, for bytes that RFC 3986 does not allow, and for more
 *   than 8 KiB.
 */
export function checkedTarget(raw: string): string {
  if (raw.length > MAX_TARGET) throw invalid(`It is longer than ${MAX_TARGET} bytes.`);
  // OPTIONS asks about the server as a whole with it.
  if (raw === '*') return raw;
  const target = withoutOrigin(raw);
  const mark = target.indexOf('?');
  const path = mark === -1 ? target : target.slice(0, mark);
  if (target.includes('#')) throw invalid('It has a fragment: leave out "#" and what follows.');
  if (!PATH.test(path)) throw invalid('Its path has characters that must be percent-encoded.');
  if (mark === -1) return withoutRepeatedSlashes(path);
  if (!QUERY.test(target.slice(mark + 1))) throw invalid('Its query has characters that must be percent-encoded.');
  return withoutRepeatedSlashes(path) + target.slice(mark);
}

/** A target in absolute form as one in origin form; any other as it is. */
export function withoutOrigin(raw: string): string {
  if (raw.startsWith('/')) return raw;
  const origin = ORIGIN.exec(raw)?.[0];
  if (origin === undefined) return raw;
  const rest = raw.slice(origin.length);
  return rest.startsWith('/') ? rest : `/${rest}`;
}

function withoutRepeatedSlashes(path: string): string {
  return path.includes('//') ? path.replace(/\/{2,}/g, '/') : path;
}

/** Where a request goes at a provider. */
export interface ProviderAddress {
  origin: string;
  /** Path with query. */
  path: string;
}

/** A request target after `/v1`, and the API that the model declares for it. */
export interface ApiTarget {
  /** Path with query, such as `/audio/speech?x=1`. */
  path: string;
  /** `chat_completions`, `responses`, or the path after `/v1/` without query, such as `audio/speech`. */
  api: string;
}

/**
 * The address of an API at a provider: the base's path, then the client's, then both queries; a client's query goes on
 * byte for byte. However a URL parser reads the address, it is under `<base>/<api>`.
 * @throws GatewayError `not_found` for a path that is read in more than one way: with dot segments, backslashes, slashes
 *   or control characters that are percent-encoded, or encoded several times.
 */
export function providerAddress(base: URL, { path: target, api }: ApiTarget): ProviderAddress {
  const mark = target.indexOf('?');
  const path = mark === -1 ? target : target.slice(0, mark);
  if (!isPlainPath(path)) throw new GatewayError('not_found', 'There is nothing at this address.');
  const start = withoutTrailing(base.pathname, '/');
  const pathname = start + path;
  const declared = `${start}/${api === 'chat_completions' ? 'chat/completions' : api}`;
  const read = new URL(base.origin + pathname);
  const isUnder = read.pathname === declared || read.pathname.startsWith(`${declared}/`);
  if (!isUnder || read.pathname !== pathname || read.origin !== base.origin) {
    throw new GatewayError('not_found', 'There is nothing at this address.', {
      cause: new Error('the address of a provider does not begin with its base and the API'),
    });
  }
  return { origin: base.origin, path: pathname + joinedQuery(base.search, mark === -1 ? '' : target.slice(mark)) };
}

/** How often a path may be percent-encoded over before it is refused. */
const MAX_DECODINGS = 3;

/**
 * Whether every reader of a path sees the same segments in it, however often it decodes them, and also where it takes
 * look-alikes for the characters that they look like.
 */
export function isPlainPath(path: string): boolean {
  if (!path.startsWith('/') || path.includes('//')) return false;
  const segments = path.split('/').length;
  const isFolded = (read: string) => FOLDED.test(read) || read.split('/').length !== segments;
  let read = path;
  for (let decodings = 0; decodings <= MAX_DECODINGS; decodings++) {
    if (isFolded(read)) return false;
    const decoded = read.replace(/%([\dA-Fa-f]{2})/g, (_, hex: string) =>
      String.fromCharCode(Number.parseInt(hex, 16)),
    );
    if (decoded === read) return true;
    const bytes = Buffer.from(decoded, 'latin1');
    // Overlong forms of dots and slashes are not valid UTF-8.
    if (decodings === 0 && !isUtf8(bytes)) return false;
    if (isFolded(bytes.toString('utf8').normalize('NFKC'))) return false;
    read = decoded;
  }
  return false;
}

/**
 * Dot segments (with spaces around them, which some systems cut off, or before parameters, a query or a fragment, where
 * they are read as such), backslashes and control characters.
 */
// biome-ignore lint/suspicious/noControlCharactersInRegex: control characters are what is looked for.
const FOLDED = /(?:^|\/)[ \xa0]*\.{1,2}[ \xa0]*(?:[;?#/]|$)|[\\\u0000-\u001f\u007f]/;

function joinedQuery(base: string, query: string): string {
  if (base === '' || query === '' || query === '?') return base || query;
  return `${base}&${query.slice(1)}`;
}

function invalid(what: string): GatewayError {
  return new GatewayError('invalid_request_target', `The address of the request is not valid. ${what}`);
}
