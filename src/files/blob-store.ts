import type { Readable } from 'node:stream';
import { GatewayError } from '../base/errors.ts';

/**
 * Stores the bytes of files, each under the id of its file. If the storage is unavailable, slow or full, methods throw
 * GatewayError `store_unavailable`.
 */
export interface BlobStore extends Disposable {
  /**
   * Receives a stream to its end. It is no file before `commit`; dispose of it otherwise. A broken stream leaves
   * nothing behind.
   * @throws GatewayError `request_too_large` beyond `maxBytes`, `store_unavailable`; otherwise the error of the stream
   * or the reason of the signal.
   */
  receive(source: Readable, options: { id: string; maxBytes: number; signal: AbortSignal }): Promise<ReceivedBlob>;
  /** Reads a whole file; undefined if there is none. @throws GatewayError `store_unavailable`, the signal's reason. */
  read(id: string, signal: AbortSignal): Promise<Buffer | undefined>;
  /** Like `read`, as a stream. Read it to its end or destroy it. */
  stream(id: string, signal: AbortSignal): Promise<Readable | undefined>;
  /** Removes a file for good; does nothing if there is none. @throws as `read`. */
  remove(id: string, signal: AbortSignal): Promise<void>;
  /**
   * Removes remains of uploads and files unknown to `isKnown` that are older than `olderThanMs`; what cannot be removed
   * stays until the next sweep. @throws as `read` and `isKnown`.
   */
  sweep(options: SweepOptions): Promise<void>;
}

export interface SweepOptions {
  /** In milliseconds. */
  olderThanMs: number;
  isKnown(id: string): Promise<boolean>;
  signal: AbortSignal;
}

/** A stream that was received completely. */
export interface ReceivedBlob extends AsyncDisposable {
  id: string;
  bytes: number;
  /** Makes it the file with its id. */
  commit(): Promise<void>;
}

/** The error for a file of more than `maxBytes` bytes. */
export function fileTooLarge(maxBytes: number): GatewayError {
  return new GatewayError('request_too_large', `file: files may have ${maxBytes} bytes at most (files.max_bytes).`, {
    param: 'file',
  });
}

/** The error that clients get if the storage fails. */
export function blobStoreUnavailable(cause: unknown): GatewayError {
  return new GatewayError('store_unavailable', 'The file storage is not available right now. Try again.', {
    retryAfterMs: 5000,
    cause,
  });
}
