import type { OpenUpload, S3Bucket, UploadedPart } from './s3-bucket.ts';

/** Larger objects are sent in parts, in bytes. */
const WHOLE = 16 * 1024 * 1024;
/** The smallest part that S3 takes, in bytes; and how many an upload may have. All but the last have one size. */
export const PART = 5 * 1024 * 1024;
const MOST_PARTS = 10_000;
/** From here on uploads go over to parts as soon as they have one, in bytes. */
const CROWDED = 64 * 1024 * 1024;

/** What all uploads of a process hold together, in bytes. With 64 of them it stays below 400 MiB, for files up to 48 GiB. */
export interface BytesInMemory {
  bytes: number;
}

/** An object on its way into a bucket: in memory up to 16 MiB, and in parts beyond. */
export class S3Upload implements Disposable {
  readonly #bucket: S3Bucket;
  readonly #key: string;
  readonly #held: BytesInMemory;
  readonly #part: number;
  #pieces: Buffer[] = [];
  #waiting = 0;
  #sent = 0;
  #parts: UploadedPart[] = [];
  #uploadId: string | undefined;
  /** Whether an upload in parts may be open that is not known by its id. */
  #unsure = false;
  /** Whether there may be an object. */
  #ended = false;

  /** @param most the largest size that the object may have, in bytes. */
  constructor(bucket: S3Bucket, { key, most, held }: { key: string; most: number; held: BytesInMemory }) {
    this.#bucket = bucket;
    this.#key = key;
    this.#held = held;
    this.#part = Math.max(PART, Math.ceil(most / MOST_PARTS));
  }

  [Symbol.dispose](): void {
    this.#hold(-this.#waiting);
    this.#pieces = [];
  }

  /** Takes a piece; it is waited for the store where there are enough. */
  async write(piece: Buffer, signal: AbortSignal): Promise<void> {
    this.#pieces.push(piece);
    this.#hold(piece.length);
    const inParts = this.#uploadId !== undefined || this.#held.bytes > CROWDED || this.#waiting > WHOLE;
    while (inParts && this.#waiting > this.#part) await this.#sendPart(signal);
  }

  /** Makes it an object. */
  async end(signal: AbortSignal): Promise<void> {
    this.#ended = true;
    if (this.#uploadId === undefined) return await this.#bucket.put(this.#key, this.#pieces, signal);
    await this.#sendPart(signal);
    const upload = { key: this.#key, uploadId: this.#uploadId, size: this.#sent };
    await this.#bucket.complete(upload, this.#parts, signal);
    if (this.#unsure) await this.#abortAll(signal);
  }

  /** Removes all that the store may have of it. */
  async abandon(signal: AbortSignal): Promise<void> {
    const [key, uploadId] = [this.#key, this.#uploadId];
    if (uploadId !== undefined) await this.#bucket.abort({ key, uploadId }, signal);
    if (this.#unsure) await this.#abortAll(signal);
    if (this.#ended) await this.#bucket.remove(key, signal);
  }

  async #sendPart(signal: AbortSignal): Promise<void> {
    const uploadId = this.#uploadId ?? (await this.#begin(signal));
    const pieces = this.#cut();
    const bytes = pieces.reduce((sum, piece) => sum + piece.length, 0);
    const part = { key: this.#key, uploadId, number: this.#parts.length + 1 };
    try {
      this.#parts.push(await this.#bucket.putPart(part, pieces, signal));
    } finally {
      this.#hold(-bytes);
    }
    this.#sent += bytes;
  }

  async #begin(signal: AbortSignal): Promise<string> {
    this.#unsure = true;
    const { uploadId, unsure } = await this.#bucket.begin(this.#key, signal);
    this.#unsure = unsure;
    this.#uploadId = uploadId;
    return uploadId;
  }

  /** The pieces of the next part. */
  #cut(): Buffer[] {
    const cut: Buffer[] = [];
    for (let left = this.#part; left > 0; ) {
      const piece = this.#pieces.shift();
      if (!piece) break;
      if (piece.length > left) this.#pieces.unshift(piece.subarray(left));
      cut.push(piece.subarray(0, left));
      left -= Math.min(left, piece.length);
    }
    return cut;
  }

  async #abortAll(signal: AbortSignal): Promise<void> {
    const open: OpenUpload[] = [];
    for await (const upload of this.#bucket.uploads(this.#key, signal)) if (upload.key === this.#key) open.push(upload);
    for (const upload of open) await this.#bucket.abort(upload, signal);
  }

  #hold(bytes: number): void {
    this.#waiting += bytes;
    this.#held.bytes += bytes;
  }
}
