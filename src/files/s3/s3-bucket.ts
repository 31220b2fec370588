import type { S3Connection } from './s3-connection.ts';
import { element, elementsIn, elementText } from './s3-xml.ts';

/** A part of an upload, as `completeUpload` names it. */
export interface UploadedPart {
  number: number;
  etag: string;
}

/** A multipart upload that is neither complete nor aborted. */
export interface OpenUpload {
  key: string;
  uploadId: string;
  /** Milliseconds since the epoch. */
  startedAt: number;
}

/** Operations on a bucket, named as in the S3 API. Every method throws as `S3Connection.send`. */
export class S3Bucket {
  readonly #connection: S3Connection;
  readonly #name: string;

  constructor(connection: S3Connection, name: string) {
    this.#connection = connection;
    this.#name = name;
  }

  async put(key: string, body: readonly Buffer[], signal: AbortSignal): Promise<void> {
    const response = await this.#connection.send({ method: 'PUT', path: this.#path(key), body }, signal);
    if (response.status === 404) throw this.#connection.failure(new Error(`there is no bucket ${this.#name}`));
  }

  /** Reads an object from the byte `from`, until the signal aborts; undefined if there is none. */
  async get(key: string, { from, signal }: { from: number; signal: AbortSignal }): Promise<Response | undefined> {
    const headers: Record<string, string> = from === 0 ? {} : { range: `bytes=${from}-` };
    const response = await this.#connection.open({ method: 'GET', path: this.#path(key), headers }, signal);
    if (!response || from === 0 || response.status === 206) return response;
    await response.body?.cancel();
    throw this.#connection.failure(new Error('the store does not support range requests'));
  }

  /** Size of an object in bytes; undefined if there is none. */
  async sizeOf(key: string, signal: AbortSignal): Promise<number | undefined> {
    const { status, headers } = await this.#connection.send({ method: 'HEAD', path: this.#path(key) }, signal);
    return status === 404 ? undefined : Number(headers.get('content-length'));
  }

  async remove(key: string, signal: AbortSignal): Promise<void> {
    await this.#connection.send({ method: 'DELETE', path: this.#path(key) }, signal);
  }

  /** Objects whose keys start with `prefix`, page by page; `changedAt` in milliseconds since the epoch. */
  async *list(prefix: string, signal: AbortSignal): AsyncGenerator<{ key: string; changedAt: number }> {
    let token: string | undefined;
    do {
      const continuation: Record<string, string> = token === undefined ? {} : { 'continuation-token': token };
      const text = await this.#queryBucket({ 'list-type': '2', prefix, ...continuation }, signal);
      for (const entry of elementsIn(text, 'Contents')) {
        yield { key: elementText(entry, 'Key') ?? '', changedAt: Date.parse(elementText(entry, 'LastModified') ?? '') };
      }
      token = elementText(text, 'NextContinuationToken');
    } while (token !== undefined);
  }

  /** Creates a multipart upload. `mayHaveDuplicate`: an attempt without a response may have created another one. */
  async createUpload(key: string, signal: AbortSignal): Promise<{ uploadId: string; mayHaveDuplicate: boolean }> {
    const request = { method: 'POST', path: this.#path(key), query: { uploads: '' } } as const;
    const { text, isRetry } = await this.#connection.send(request, signal);
    const uploadId = elementText(text, 'UploadId');
    if (uploadId === undefined) throw this.#connection.failure(new Error('a multipart upload cannot be started'));
    return { uploadId, mayHaveDuplicate: isRetry };
  }

  async uploadPart(
    { key, uploadId, number }: { key: string; uploadId: string; number: number },
    body: readonly Buffer[],
    signal: AbortSignal,
  ): Promise<UploadedPart> {
    const query = { partNumber: String(number), uploadId };
    const { headers } = await this.#connection.send({ method: 'PUT', path: this.#path(key), query, body }, signal);
    const etag = headers.get('etag');
    if (!etag) throw this.#connection.failure(new Error('a part was answered without its ETag'));
    return { number, etag };
  }

  /** Turns the parts into an object. `size`: their bytes together. */
  async completeUpload(
    { key, uploadId, size }: { key: string; uploadId: string; size: number },
    parts: readonly UploadedPart[],
    signal: AbortSignal,
  ): Promise<void> {
    const inner = parts.map(
      ({ number, etag }) => `<Part>${element('PartNumber', String(number))}${element('ETag', etag)}</Part>`,
    );
    const body = [Buffer.from(`<CompleteMultipartUpload>${inner.join('')}</CompleteMultipartUpload>`)];
    const query = { uploadId };
    const { status } = await this.#connection.send({ method: 'POST', path: this.#path(key), query, body }, signal);
    // The upload is gone if an earlier attempt has completed it, and its response was lost.
    if (status !== 404 || (await this.sizeOf(key, signal)) === size) return;
    throw this.#connection.failure(new Error('the store has lost a multipart upload'));
  }

  async abortUpload({ key, uploadId }: Pick<OpenUpload, 'key' | 'uploadId'>, signal: AbortSignal): Promise<void> {
    await this.#connection.send({ method: 'DELETE', path: this.#path(key), query: { uploadId } }, signal);
  }

  /** Multipart uploads in progress whose keys start with `prefix`. Some stores only match whole keys. */
  async *listUploads(prefix: string, signal: AbortSignal): AsyncGenerator<OpenUpload> {
    let after: Record<string, string> | undefined = {};
    while (after) {
      const text: string = await this.#queryBucket({ uploads: '', prefix, ...after }, signal);
      for (const entry of elementsIn(text, 'Upload')) {
        const [key = '', uploadId = ''] = [elementText(entry, 'Key'), elementText(entry, 'UploadId')];
        yield { key, uploadId, startedAt: Date.parse(elementText(entry, 'Initiated') ?? '') };
      }
      const key = elementText(text, 'NextKeyMarker');
      const id = elementText(text, 'NextUploadIdMarker');
      const hasMore = elementText(text, 'IsTruncated') === 'true' && key !== undefined && id !== undefined;
      after = hasMore ? { 'key-marker': key, 'upload-id-marker': id } : undefined;
    }
  }

  async #queryBucket(query: Record<string, string>, signal: AbortSignal): Promise<string> {
    const { status, text } = await this.#connection.send({ method: 'GET', path: `/${this.#name}`, query }, signal);
    if (status === 404) throw this.#connection.failure(new Error(`there is no bucket ${this.#name}`));
    return text;
  }

  #path(key: string): string {
    return `/${this.#name}/${key}`;
  }
}
