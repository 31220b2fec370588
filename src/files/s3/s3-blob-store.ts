import { addAbortSignal, Readable } from 'node:stream';
import { linkSignals } from '../../base/abort.ts';
import { type BlobStore, fileTooLarge, type ReceivedBlob, type SweepOptions } from '../blob-store.ts';
import { S3Bucket } from './s3-bucket.ts';
import { S3Connection, type S3ConnectionOptions } from './s3-connection.ts';
import { type PartBuffer, S3Upload } from './s3-upload.ts';

export interface S3BlobStoreOptions extends S3ConnectionOptions {
  /** `s3://bucket/prefix`. */
  url: string;
}

/** How many times in a row a download may break off without any new bytes. */
const MAX_BREAKS = 3;
/** Time limit to remove the remains of an upload, in milliseconds: the client may have disconnected already. */
const CLEANUP_MS = 10_000;
/** Smaller chunks are joined to pieces of at least this size, in bytes. */
const MIN_PIECE_BYTES = 16 * 1024;
/** An object with another kind of name is not ours. */
const ID = /^[0-9a-f-]{36}$/;

/** Stores the bytes of files in a store that speaks S3: each is an object under its id. */
export class S3BlobStore implements BlobStore {
  readonly #connection: S3Connection;
  readonly #bucket: S3Bucket;
  /** Prefix of keys: empty, or ends with a slash. */
  readonly #prefix: string;
  readonly #buffered: PartBuffer = { bytes: 0 };

  constructor({ url, ...options }: S3BlobStoreOptions) {
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

  async receive(
    source: Readable,
    { id, maxBytes, signal }: { id: string; maxBytes: number; signal: AbortSignal },
  ): Promise<ReceivedBlob> {
    const key = this.#prefix + id;
    using upload = new S3Upload(this.#bucket, { key, maxBytes, buffered: this.#buffered });
    let bytes = 0;
    try {
      for await (const chunk of inPieces(addAbortSignal(signal, source))) {
        bytes += chunk.length;
        if (bytes > maxBytes) throw fileTooLarge(maxBytes);
        await upload.write(chunk, signal);
      }
      await upload.end(signal);
    } catch (thrown) {
      // If this fails, a sweep removes it.
      await upload.abandon(AbortSignal.timeout(CLEANUP_MS)).catch(() => {});
      throw signal.aborted ? signal.reason : thrown;
    }
    let isCommitted = false;
    return {
      id,
      bytes,
      // The object exists already; only the record makes it a file.
      commit: async () => {
        isCommitted = true;
      },
      [Symbol.asyncDispose]: async () => {
        if (!isCommitted) await this.#bucket.remove(key, AbortSignal.timeout(CLEANUP_MS)).catch(() => {});
      },
    };
  }

  async read(id: string, signal: AbortSignal): Promise<Buffer | undefined> {
    const source = await this.stream(id, signal);
    return source && Buffer.concat(await source.toArray());
  }

  async stream(id: string, signal: AbortSignal): Promise<Readable | undefined> {
    const key = this.#prefix + id;
    using stack = new DisposableStack();
    const reading = stack.use(linkSignals([signal]));
    const first = await this.#bucket.get(key, { from: 0, signal: reading.signal });
    if (!first) return undefined;
    const opened = stack.move();
    return Readable.from(this.#chunks(first, key, reading.signal), { objectMode: false }).once('close', () => {
      // A response that nobody starts to read does not end by itself.
      reading.abort();
      opened.dispose();
    });
  }

  async remove(id: string, signal: AbortSignal): Promise<void> {
    await this.#bucket.remove(this.#prefix + id, signal);
  }

  async sweep({ olderThanMs, isKnown, signal }: SweepOptions): Promise<void> {
    const before = Date.now() - olderThanMs;
    const toNext = () => signal.throwIfAborted();
    for await (const { key, changedAt } of this.#bucket.list(this.#prefix, signal)) {
      const id = key.slice(this.#prefix.length);
      if (changedAt < before && !(await isKnown(id))) await this.#bucket.remove(key, signal).catch(toNext);
    }
    for await (const upload of this.#bucket.listUploads(this.#prefix, signal)) {
      const isOurs = ID.test(upload.key.slice(this.#prefix.length));
      if (isOurs && upload.startedAt < before) await this.#bucket.abortUpload(upload, signal).catch(toNext);
    }
  }

  /** The bytes of an object. If a response breaks off, the rest is requested. */
  async *#chunks({ body }: Response, key: string, signal: AbortSignal): AsyncGenerator<Uint8Array> {
    let offset = 0;
    for (let breaks = 1; body; breaks++) {
      try {
        for await (const chunk of body) {
          breaks = 1;
          offset += chunk.length;
          yield chunk;
        }
        return;
      } catch (cause) {
        signal.throwIfAborted();
        const rest = breaks < MAX_BREAKS ? await this.#bucket.get(key, { from: offset, signal }) : undefined;
        if (!rest) throw this.#connection.failure(cause);
        body = rest.body;
      }
    }
  }
}

/** Joins small chunks: a client may send single bytes, and each buffer takes a hundred times its byte. */
async function* inPieces(source: AsyncIterable<Buffer>): AsyncGenerator<Buffer> {
  let chunks: Buffer[] = [];
  let bytes = 0;
  for await (const chunk of source) {
    chunks.push(chunk);
    bytes += chunk.length;
    if (bytes < MIN_PIECE_BYTES) continue;
    yield chunks.length === 1 ? chunk : Buffer.concat(chunks);
    chunks = [];
    bytes = 0;
  }
  if (bytes > 0) yield Buffer.concat(chunks);
}
