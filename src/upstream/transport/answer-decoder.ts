import type { IncomingHttpHeaders } from 'node:http';
import { compose, Duplex, pipeline } from 'node:stream';
import { createBrotliDecompress, createGunzip, createInflate, createInflateRaw, createZstdDecompress } from 'node:zlib';
import { brokenStream } from '../routing/attempt-failure.ts';

const DECODERS: Readonly<Record<string, () => Duplex>> = {
  gzip: createGunzip,
  'x-gzip': createGunzip,
  deflate: () => Duplex.from(inflated),
  br: createBrotliDecompress,
  zstd: createZstdDecompress,
};

/** Why an answer in an unknown content coding is refused. */
export const UNREQUESTED_CODING = 'a content coding that was not asked for';
/** An answer with more codings than this is a decompression bomb. */
const MAX_CODINGS = 3;

/**
 * A stream that decompresses an answer; undefined where it is not compressed. Some providers compress without being asked,
 * and a compressed answer can be neither judged nor counted, and can hide credentials. A broken or truncated body is an
 * `error` of the stream, never a shorter answer.
 * @throws AttemptFailure for an unknown coding.
 */
export function decoderOf(headers: IncomingHttpHeaders): Duplex | undefined {
  const codings = (headers['content-encoding'] ?? '').split(',').map((coding) => coding.trim().toLowerCase());
  const names = codings.filter((coding) => coding !== '' && coding !== 'identity');
  if (names.length === 0) return undefined;
  if (names.length > MAX_CODINGS || !names.every((name) => Object.hasOwn(DECODERS, name)))
    throw brokenStream(UNREQUESTED_CODING);
  const decoders = names.toReversed().flatMap((name) => DECODERS[name]?.() ?? []);
  return decoders.reduce((outer, inner) => compose(outer, inner));
}

/** Inflates with or without the zlib header, which some servers omit; its first half byte is the method, 8. */
async function* inflated(source: AsyncIterable<Buffer>): AsyncGenerator<Buffer> {
  const chunks = source[Symbol.asyncIterator]();
  const first = await chunks.next();
  if (first.done) return;
  const inflate = (first.value[0] ?? 0) % 16 === 8 ? createInflate() : createInflateRaw();
  // Without a callback, an error would be thrown after the reader has gone.
  yield* pipeline(withFirst(first.value, chunks), inflate, () => {});
}

async function* withFirst(first: Buffer, rest: AsyncIterator<Buffer>): AsyncGenerator<Buffer> {
  yield first;
  for (let next = await rest.next(); !next.done; next = await rest.next()) yield next.value;
}
