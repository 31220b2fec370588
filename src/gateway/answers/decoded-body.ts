import type { IncomingMessage } from 'node:http';
import { type Duplex, pipeline, type Readable } from 'node:stream';
import { createBrotliDecompress, createGunzip, createInflate, createZstdDecompress } from 'node:zlib';

const DECODERS: Readonly<Record<string, () => Duplex>> = {
  gzip: createGunzip,
  'x-gzip': createGunzip,
  deflate: createInflate,
  br: createBrotliDecompress,
  zstd: createZstdDecompress,
};

/** More codings than this are a bomb. */
const MAX_CODINGS = 3;

/**
 * The body of a provider's answer as it was before it was compressed, so that credentials in it are seen; the answer
 * itself where it is not compressed. What is broken is an `error` of the stream. Undefined where nobody can look
 * inside: an unknown coding, or a part of a compressed body.
 */
export function decodedBody(answer: IncomingMessage): Readable | undefined {
  const codings = codingsOf(answer);
  if (codings.length === 0 || isBodiless(answer)) return answer;
  const decoders = codings.map((coding) => (Object.hasOwn(DECODERS, coding) ? DECODERS[coding]?.() : undefined));
  if (
    codings.length > MAX_CODINGS ||
    answer.statusCode === 206 ||
    !decoders.every((decoder) => decoder !== undefined)
  ) {
    return undefined;
  }
  const [last] = decoders;
  // The callback keeps a broken answer from being thrown; whoever reads the last stream gets its `error`.
  pipeline([answer, ...decoders.toReversed()], () => {});
  return last;
}

/** The headers of an answer whose body was decoded. */
export function decodedHeaders(headers: Record<string, string>): Record<string, string> {
  const { 'content-encoding': coding, 'content-length': length, ...rest } = headers;
  return coding === undefined && length !== undefined ? { ...rest, 'content-length': length } : rest;
}

function codingsOf({ headers }: IncomingMessage): string[] {
  const codings = (headers['content-encoding'] ?? '').split(',').map((coding) => coding.trim().toLowerCase());
  return codings.filter((coding) => coding !== '' && coding !== 'identity');
}

function isBodiless({ statusCode, headers, req }: IncomingMessage & { req?: { method?: string } }): boolean {
  return statusCode === 204 || statusCode === 304 || headers['content-length'] === '0' || req?.method === 'HEAD';
}
