import type { Readable } from 'node:stream';
import { GatewayError } from '../base/errors.ts';

/**
 * Where the bytes of files lie, each under the id of its file. What fails because the place is away, slow or full is a
 * GatewayError `store_unavailable`.
 */
export interface FilePlace extends Disposable {
  /**
   * Takes a stream to its end. It is no file before `keep`: dispose what was not kept. Of a stream that breaks off nothing
   * stays.
   * @throws GatewayError `request_too_large` beyond `most` bytes, `store_unavailable`; else what the stream breaks off
   * with, or the reason of the signal.
   */
  take(source: Readable, options: { id: string; most: number; signal: AbortSignal }): Promise<TakenBytes>;
  /** All bytes of a file; undefined where there is none. @throws GatewayError `store_unavailable`, the signal's reason. */
  read(id: string, signal: AbortSignal): Promise<Buffer | undefined>;
  /** As `read`, in pieces. Pull it to its end or destroy it. */
  stream(id: string, signal: AbortSignal): Promise<Readable | undefined>;
  /** Removes a file for good; nothing happens where there is none. @throws as `read`. */
  remove(id: string, signal: AbortSignal): Promise<void>;
  /**
   * Removes what uploads left behind, and files that nobody knows, where they are older than `olderThanMs` milliseconds.
   * @throws as `read`.
   */
  sweep(options: SweepOptions): Promise<void>;
}

export interface SweepOptions {
  /** In milliseconds. */
  olderThanMs: number;
  isKnown(id: string): Promise<boolean>;
  signal: AbortSignal;
}

/** A stream that was taken. */
export interface TakenBytes extends AsyncDisposable {
  id: string;
  bytes: number;
  /** Makes it the file of its id. */
  keep(): Promise<void>;
}

/** The refusal of a file with more than `most` bytes. */
export function tooLarge(most: number): GatewayError {
  return new GatewayError('request_too_large', `file: files may have ${most} bytes at most (files.max_bytes).`, {
    param: 'file',
  });
}

/** What a client is told where the place fails; `cause` is for the log. */
export function placeFails(cause: unknown): GatewayError {
  return new GatewayError('store_unavailable', 'The storage of files is not available now. Try again.', {
    retryAfterMs: 5000,
    cause,
  });
}
