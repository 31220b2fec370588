import type { Transform } from 'node:stream';
import { createBrotliDecompress, createGunzip, createInflate, createInflateRaw, createZstdDecompress } from 'node:zlib';
import { brokenStream } from '../routing/attempt-failure.ts';

/** What a decoder gives, and the pace of what it takes. */
export interface DecoderOutput {
  data(chunk: Buffer): void;
  end(): void;
  error(error: unknown): void;
  /** Nothing more shall be written until `resume`. */
  pause(): void;
  resume(): void;
}

const DECODERS: Readonly<Record<string, (first: Buffer) => Transform>> = {
  gzip: () => createGunzip(),
  'x-gzip': () => createGunzip(),
  // Some servers send it without its frame, which begins with the number of the method: 8.
  deflate: (first) => ((first[0] ?? 0) % 16 === 8 ? createInflate() : createInflateRaw()),
  br: () => createBrotliDecompress(),
  zstd: () => createZstdDecompress(),
};

/** Whether a body with this `content-encoding` has to be decoded. */
export function isEncoded(encoding: string | undefined): encoding is string {
  return encoding !== undefined && encoding.trim() !== '' && encoding.trim().toLowerCase() !== 'identity';
}

/**
 * Takes the compression off an answer: a provider may compress although nobody asks for it, and what is compressed can
 * be neither judged nor counted. What is broken or cut is an error, never a shorter answer.
 */
export class AnswerDecoder {
  readonly #make: (first: Buffer) => Transform;
  readonly #output: DecoderOutput;
  #stream: Transform | undefined;
  #isPaused = false;

  /** @throws AttemptFailure for a compression that is not known. */
  constructor(encoding: string, output: DecoderOutput) {
    const name = encoding.trim().toLowerCase();
    const make = Object.hasOwn(DECODERS, name) ? DECODERS[name] : undefined;
    if (!make) throw brokenStream('the answer is compressed in an unknown way');
    this.#make = make;
    this.#output = output;
  }

  write(chunk: Buffer): void {
    this.#stream ??= this.#open(this.#make(chunk));
    if (!this.#stream.write(chunk)) this.#output.pause();
  }

  /** The body ended; an empty one is none that could be broken. */
  end(): void {
    if (this.#stream) this.#stream.end();
    else this.#output.end();
  }

  pause(): void {
    this.#isPaused = true;
    this.#stream?.pause();
  }

  /** Whether more may be written. */
  resume(): boolean {
    this.#isPaused = false;
    this.#stream?.resume();
    return !this.#stream?.writableNeedDrain;
  }

  destroy(): void {
    this.#stream?.destroy();
  }

  #open(stream: Transform): Transform {
    const { data, end, error, resume } = this.#output;
    stream.on('data', data);
    stream.on('drain', () => {
      if (!this.#isPaused) resume();
    });
    stream.once('end', end);
    stream.on('error', () => error(brokenStream('the compression of the answer is broken')));
    return stream;
  }
}
