import type { IncomingMessage } from 'node:http';
import { addAbortSignal, Readable } from 'node:stream';
import { type FilePlace, type SweepOptions, type TakenBytes, tooLarge } from '../file-place.ts';
import { S3Bucket } from './s3-bucket.ts';
import { S3Connection, type S3ConnectionOptions } from './s3-connection.ts';
import { type BytesInMemory, S3Upload } from './s3-upload.ts';

export interface S3FilesOptions extends S3ConnectionOptions {
  /** `s3://bucket/prefix`. */
  url: string;
}

/** How often a download may break off without a byte in between. */
const BREAKS = 3;
/** How long it is tried to remove what is left of an upload, in milliseconds: the client may have left already. */
const CLEANING_MS = 10_000;
/** What lies in the bucket under another name is somebody else's. */
const ID = /^[0-9a-f-]{36}$/;

/** The bytes of files in a store that speaks S3: each an object, under its id. */
export class S3Files implements FilePlace {
  readonly #connection: S3Connection;
  readonly #bucket: S3Bucket;
  /** Of keys; empty, or with a slash at its end. */
  readonly #prefix: string;
  readonly #held: BytesInMemory = { bytes: 0 };

  constructor({ url, ...options }: S3FilesOptions) {
    const [bucket = '', ...folders] = url.slice('s3://'.length).split('/');
    this.#connection = new S3Connection(options);
    this.#bucket = new S3Bucket(this.#connection, bucket);
    this.#prefix = folders
      .filter((folder) => folder !== '')
      .map((folder) => `${folder}/`)
      .join('');
  }

  [Symbol.dispose](): void {
    this.#connection[Symbol.dispose]();
  }

  async take(
    source: Readable,
    { id, most, signal }: { id: string; most: number; signal: AbortSignal },
  ): Promise<TakenBytes> {
    const key = this.#prefix + id;
    using upload = new S3Upload(this.#bucket, { key, most, held: this.#held });
    let bytes = 0;
    try {
      for await (const piece of addAbortSignal(signal, source)) {
        bytes += piece.length;
        if (bytes > most) throw tooLarge(most);
        await upload.write(piece, signal);
      }
      await upload.end(signal);
    } catch (thrown) {
      // What cannot be removed now is found by a sweep.
      await upload.abandon(AbortSignal.timeout(CLEANING_MS)).catch(() => {});
      throw signal.aborted ? signal.reason : thrown;
    }
    let kept = false;
    return {
      id,
      bytes,
      // It is there already: what makes it a file is its record.
      keep: async () => {
        kept = true;
      },
      [Symbol.asyncDispose]: async () => {
        if (!kept) await this.#bucket.remove(key, AbortSignal.timeout(CLEANING_MS)).catch(() => {});
      },
    };
  }

  async read(id: string, signal: AbortSignal): Promise<Buffer | undefined> {
    const source = await this.stream(id, signal);
    return source && Buffer.concat(await source.toArray());
  }

  async stream(id: string, signal: AbortSignal): Promise<Readable | undefined> {
    const key = this.#prefix + id;
    const first = await this.#bucket.get(key, { from: 0, signal });
    if (!first) return undefined;
    const source = Readable.from(this.#pieces(first, { key, signal }), { objectMode: false });
    // What nobody began to read does not end by itself.
    return source.once('close', () => first.destroy());
  }

  async remove(id: string, signal: AbortSignal): Promise<void> {
    await this.#bucket.remove(this.#prefix + id, signal);
  }

  async sweep({ olderThanMs, isKnown, signal }: SweepOptions): Promise<void> {
    const before = Date.now() - olderThanMs;
    for await (const { key, changedAt } of this.#bucket.list(this.#prefix, signal)) {
      const id = key.slice(this.#prefix.length);
      if (changedAt < before && !(await isKnown(id))) await this.#bucket.remove(key, signal);
    }
    for await (const upload of this.#bucket.uploads(this.#prefix, signal)) {
      const isOurs = ID.test(upload.key.slice(this.#prefix.length));
      if (isOurs && upload.begunAt < before) await this.#bucket.abort(upload, signal);
    }
  }

  /** The bytes of an object. Where an answer breaks off, the rest is asked for. */
  async *#pieces(
    first: IncomingMessage,
    { key, signal }: { key: string; signal: AbortSignal },
  ): AsyncGenerator<Buffer> {
    let pieces = this.#connection.piecesOf(first, signal);
    let at = 0;
    let breaks = 0;
    try {
      for (;;) {
        const next = await pieces.next().catch((cause: unknown) => ({ cause }));
        if ('cause' in next) {
          signal.throwIfAborted();
          const rest = ++breaks < BREAKS ? await this.#bucket.get(key, { from: at, signal }) : undefined;
          if (!rest) throw this.#connection.failure(next.cause);
          pieces = this.#connection.piecesOf(rest, signal);
          continue;
        }
        if (next.done) return;
        breaks = 0;
        at += next.value.length;
        yield next.value;
      }
    } finally {
      await pieces.return();
    }
  }
}
