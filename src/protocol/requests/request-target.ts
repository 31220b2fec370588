import { isUtf8 } from 'node:buffer';
import { GatewayError } from '../../base/errors.ts';
import { withoutTrailing } from '../../base/text.ts';

/**
 * Validates request targets and maps them to addresses at a provider. Everything that is sent to a provider with the
 * operator's credential gets its address here.
 */

/** The longest target, in bytes (docs/api.md, "Errors"). */
const MAX_TARGET = 8 * 1024;

/** RFC 3986: the bytes of a path, and those of a query, in which `[` and `]` are accepted too. */
const PATH = /^\/(?:[\w.~!$&'()*+,;=:@/-]|%[\dA-Fa-f]{2})*$/;
const QUERY = /^(?:[\w.~!$&'()*+,;=:@/?[\]-]|%[\dA-Fa-f]{2})*$/;
/** The part before the path in the absolute form of a target (RFC 9112, 3.2.2). */
const ORIGIN = /^https?:\/\/[\w.~[\]:%-]+(?=[/?]|$)/i;

/**
 * Validates a request target and returns it in origin form, such as `/v1/models?limit=2`: without the origin of an
 * absolute target, with repeated slashes of the path joined, and with the query byte for byte.
 * @throws GatewayError `invalid_request_target` for a fragment, for bytes that RFC 3986 does not allow, and for more
 *   than 8 KiB.
 */
export function normaliseTarget(raw: string): string {
  if (raw.length > MAX_TARGET) throw invalid(`It is longer than ${MAX_TARGET} bytes.`);
  // The target of an OPTIONS request about the server as a whole.
  if (raw === '*') return raw;
  const target = withoutOrigin(raw);
  const queryAt = target.indexOf('?');
  const path = queryAt === -1 ? target : target.slice(0, queryAt);
  if (target.includes('#')) throw invalid('It has a fragment: leave out "#" and what follows.');
  if (!PATH.test(path)) throw invalid('Its path has characters that must be percent-encoded.');
  if (queryAt === -1) return withoutRepeatedSlashes(path);
  if (!QUERY.test(target.slice(queryAt + 1))) throw invalid('Its query has characters that must be percent-encoded.');
  return withoutRepeatedSlashes(path) + target.slice(queryAt);
}

/** Converts a target in absolute form to origin form; returns any other unchanged. */
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

/** The address of a request at a provider. */
export interface ProviderAddress {
  origin: string;
  /** Path with query. */
  path: string;
}

/** A request target after `/v1`, and the API to which it belongs. */
export interface ApiTarget {
  /** Path with query, such as `/audio/speech?x=1`. */
  path: string;
  /** `chat_completions`, `responses`, or the path after `/v1/` without query, such as `audio/speech`. */
  api: string;
}

/**
 * The address of an API at a provider: the base's path, then the client's, then both queries; the client's query stays
 * byte for byte. However a URL parser reads the address, it is under `<base>/<api>`.
 * @throws GatewayError `not_found` for an ambiguous path: one with dot segments or backslashes, with percent-encoded
 *   slashes or control characters, or encoded several times.
 */
export function providerAddress(base: URL, { path: target, api }: ApiTarget): ProviderAddress {
  const queryAt = target.indexOf('?');
  const path = queryAt === -1 ? target : target.slice(0, queryAt);
  if (!isPlainPath(path)) throw new GatewayError('not_found', 'There is nothing at this address.');
  const start = withoutTrailing(base.pathname, '/');
  const pathname = start + path;
  const declared = `${start}/${api === 'chat_completions' ? 'chat/completions' : api}`;
  const parsed = new URL(base.origin + pathname);
  const isUnder = parsed.pathname === declared || parsed.pathname.startsWith(`${declared}/`);
  if (!isUnder || parsed.pathname !== pathname || parsed.origin !== base.origin) {
    throw new GatewayError('not_found', 'There is nothing at this address.', {
      cause: new Error('the address of a provider does not begin with its base and the API'),
    });
  }
  const query = queryAt === -1 ? '' : target.slice(queryAt);
  return { origin: base.origin, path: pathname + joinedQuery(base.search, query) };
}

/** How many times a path may be percent-encoded before it is refused. */
const MAX_DECODINGS = 3;

/**
 * Whether every parser sees the same segments in a path, however often it decodes them, and even if it normalises
 * look-alike characters.
 */
export function isPlainPath(path: string): boolean {
  if (!path.startsWith('/') || path.includes('//')) return false;
  const segments = path.split('/').length;
  const isAmbiguous = (text: string) => AMBIGUOUS.test(text) || text.split('/').length !== segments;
  let current = path;
  for (let decodings = 0; decodings <= MAX_DECODINGS; decodings++) {
    if (isAmbiguous(current)) return false;
    const decoded = current.replace(/%([\dA-Fa-f]{2})/g, (_, hex: string) =>
      String.fromCharCode(Number.parseInt(hex, 16)),
    );
    if (decoded === current) return true;
    const bytes = Buffer.from(decoded, 'latin1');
    // Overlong forms of dots and slashes are not valid UTF-8.
    if (decodings === 0 && !isUtf8(bytes)) return false;
    if (isAmbiguous(bytes.toString('utf8').normalize('NFKC'))) return false;
    current = decoded;
  }
  return false;
}

/**
 * Dot segments (also with spaces around them, which some systems strip, or before parameters, a query or a fragment,
 * where some parsers recognise them), backslashes and control characters.
 */
// biome-ignore lint/suspicious/noControlCharactersInRegex: the pattern searches for control characters.
const AMBIGUOUS = /(?:^|\/)[ \xa0]*\.{1,2}[ \xa0]*(?:[;?#/]|$)|[\\\u0000-\u001f\u007f]/;

function joinedQuery(base: string, query: string): string {
  if (base === '' || query === '' || query === '?') return base || query;
  return `${base}&${query.slice(1)}`;
}

function invalid(what: string): GatewayError {
  return new GatewayError('invalid_request_target', `The address of the request is not valid. ${what}`);
}
