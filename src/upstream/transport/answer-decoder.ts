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

/** Why an answer is refused that nobody can look into. */
export const UNASKED = 'a content coding that was not asked for';
/** More codings than this are a bomb. */
const MAX_CODINGS = 3;

/**
 * What takes the compression off an answer; undefined where it has none. Providers compress although nobody asks for it,
 * and what is compressed can be neither judged nor counted, and can hide credentials. A body that is broken or cut is an
 * `error` of the stream, never a shorter answer.
 * @throws AttemptFailure for a coding that is not known.
 */
export function decoderOf(headers: IncomingHttpHeaders): Duplex | undefined {
  const codings = (headers['content-encoding'] ?? '').split(',').map((coding) => coding.trim().toLowerCase());
  const names = codings.filter((coding) => coding !== '' && coding !== 'identity');
  if (names.length === 0) return undefined;
  if (names.length > MAX_CODINGS || !names.every((name) => Object.hasOwn(DECODERS, name))) throw brokenStream(UNASKED);
  const decoders = names.toReversed().flatMap((name) => DECODERS[name]?.() ?? []);
  return decoders.reduce((outer, inner) => compose(outer, inner));
}

/** Some servers send deflate without its frame, which begins with the number of the method: 8. */
async function* inflated(source: AsyncIterable<Buffer>): AsyncGenerator<Buffer> {
  const chunks = source[Symbol.asyncIterator]();
  const first = await chunks.next();
  if (first.done) return;
  const inflate = (first.value[0] ?? 0) % 16 === 8 ? createInflate() : createInflateRaw();
  // The callback keeps an error from being thrown where nobody reads any more.
  yield* pipeline(withFirst(first.value, chunks), inflate, () => {});
}

async function* withFirst(first: Buffer, rest: AsyncIterator<Buffer>): AsyncGenerator<Buffer> {
  yield first;
  for (let next = await rest.next(); !next.done; next = await rest.next()) yield next.value;
}
