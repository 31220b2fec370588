import type { OpenUpload, S3Bucket, UploadedPart } from './s3-bucket.ts';

/** Largest object that is sent in a single request, in bytes. */
const MAX_SINGLE_PUT_BYTES = 16 * 1024 * 1024;
/** Smallest part that S3 accepts, in bytes, and the most parts of an upload. All but the last have the same size. */
export const MIN_PART_BYTES = 5 * 1024 * 1024;
const MAX_PARTS = 10_000;
/** Above this many buffered bytes, uploads send parts as soon as they have one. */
const CROWDED_BYTES = 64 * 1024 * 1024;

/** Bytes that all uploads buffer together. With 64 uploads it stays below 400 MiB, for files up to 48 GiB. */
export interface PartBuffer {
  bytes: number;
}

/** An upload of an object: a single request up to 16 MiB, a multipart upload beyond. */
export class S3Upload implements Disposable {
  readonly #bucket: S3Bucket;
  readonly #key: string;
  readonly #buffered: PartBuffer;
  readonly #partBytes: number;
  #chunks: Buffer[] = [];
  #unsentBytes = 0;
  #sentBytes = 0;
  #parts: UploadedPart[] = [];
  #uploadId: string | undefined;
  /** Whether a multipart upload may be open whose id is unknown. */
  #mayHaveOtherUpload = false;
  /** Whether the object may exist. */
  #ended = false;

  /** @param maxBytes largest size of the object, in bytes. */
  constructor(bucket: S3Bucket, options: { key: string; maxBytes: number; buffered: PartBuffer }) {
    this.#bucket = bucket;
    this.#key = options.key;
    this.#buffered = options.buffered;
    this.#partBytes = Math.max(MIN_PART_BYTES, Math.ceil(options.maxBytes / MAX_PARTS));
  }

  [Symbol.dispose](): void {
    this.#addBuffered(-this.#unsentBytes);
    this.#chunks = [];
  }

  /** Adds a chunk. Sends parts if enough is buffered. */
  async write(chunk: Buffer, signal: AbortSignal): Promise<void> {
    this.#chunks.push(chunk);
    this.#addBuffered(chunk.length);
    const needsParts = this.#uploadId !== undefined || this.#unsentBytes > MAX_SINGLE_PUT_BYTES;
    const inParts = needsParts || this.#buffered.bytes > CROWDED_BYTES;
    while (inParts && this.#unsentBytes > this.#partBytes) await this.#sendPart(signal);
  }

  /** Completes the object. */
  async end(signal: AbortSignal): Promise<void> {
    this.#ended = true;
    if (this.#uploadId === undefined) return await this.#bucket.put(this.#key, this.#chunks, signal);
    await this.#sendPart(signal);
    const upload = { key: this.#key, uploadId: this.#uploadId, size: this.#sentBytes };
    await this.#bucket.completeUpload(upload, this.#parts, signal);
    if (this.#mayHaveOtherUpload) await this.#abortAll(signal);
  }

  /** Removes whatever the store may have of it. */
  async abandon(signal: AbortSignal): Promise<void> {
    const [key, uploadId] = [this.#key, this.#uploadId];
    if (uploadId !== undefined) await this.#bucket.abortUpload({ key, uploadId }, signal);
    if (this.#mayHaveOtherUpload) await this.#abortAll(signal);
    if (this.#ended) await this.#bucket.remove(key, signal);
  }

  async #sendPart(signal: AbortSignal): Promise<void> {
    const uploadId = this.#uploadId ?? (await this.#begin(signal));
    const chunks = this.#nextPart();
    const bytes = chunks.reduce((sum, chunk) => sum + chunk.length, 0);
    const part = { key: this.#key, uploadId, number: this.#parts.length + 1 };
    try {
      this.#parts.push(await this.#bucket.uploadPart(part, chunks, signal));
    } finally {
      this.#addBuffered(-bytes);
    }
    this.#sentBytes += bytes;
  }

  async #begin(signal: AbortSignal): Promise<string> {
    this.#mayHaveOtherUpload = true;
    const { uploadId, mayHaveDuplicate } = await this.#bucket.createUpload(this.#key, signal);
    this.#mayHaveOtherUpload = mayHaveDuplicate;
    this.#uploadId = uploadId;
    return uploadId;
  }

  /** Removes the chunks of the next part from the buffer. */
  #nextPart(): Buffer[] {
    const cut: Buffer[] = [];
    for (let left = this.#partBytes; left > 0; ) {
      const chunk = this.#chunks.shift();
      if (!chunk) break;
      if (chunk.length > left) this.#chunks.unshift(chunk.subarray(left));
      cut.push(chunk.subarray(0, left));
      left -= Math.min(left, chunk.length);
    }
    return cut;
  }

  async #abortAll(signal: AbortSignal): Promise<void> {
    const open: OpenUpload[] = [];
    for await (const upload of this.#bucket.listUploads(this.#key, signal))
      if (upload.key === this.#key) open.push(upload);
    for (const upload of open) await this.#bucket.abortUpload(upload, signal);
  }

  #addBuffered(bytes: number): void {
    this.#unsentBytes += bytes;
    this.#buffered.bytes += bytes;
  }
}
