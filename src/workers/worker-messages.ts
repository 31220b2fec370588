import { isObject } from '../base/json.ts';

/** Messages from the first process to its workers. */
export type ToWorker =
  /** `port`: where the others listen already; undefined: `server.port` of the file. */
  | { tell: 'start'; file: string; socket: string | undefined; port: string | undefined }
  /** The metrics of all workers together; undefined if not all answered in time. */
  | { tell: 'metrics'; call: number; text: string | undefined }
  | { tell: 'stop' };

/** Messages from workers to the first process. */
export type FromWorker =
  | { say: 'listening'; url: string }
  /** The worker cannot start, and neither could another one. */
  | { say: 'failed'; reason: string; code: string | undefined }
  /** `/metrics` was requested. */
  | { say: 'metrics'; call: number };

/** Libraries send messages of their own over the same channel, so each message is checked. */
export function isFromWorker(message: unknown): message is FromWorker {
  return isObject(message) && typeof message.say === 'string';
}

export function isToWorker(message: unknown): message is ToWorker {
  return isObject(message) && typeof message.tell === 'string';
}
