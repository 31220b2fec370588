import { isObject } from '../base/json.ts';

/** What the first process tells its workers. */
export type ToWorker =
  /** `port`: where others listen already; `server.port` of the file where absent. */
  | { tell: 'start'; file: string; socket: string | undefined; port: string | undefined }
  /** The metrics of all workers together; undefined where not all answered in time. */
  | { tell: 'metrics'; call: number; text: string | undefined }
  | { tell: 'stop' };

/** What workers tell the first process. */
export type FromWorker =
  | { say: 'listening'; url: string }
  /** The worker cannot start, and no other could. */
  | { say: 'failed'; reason: string; code: string | undefined }
  /** `/metrics` was asked for. */
  | { say: 'metrics'; call: number };

/** Libraries send messages of their own over the same channel. */
export function isFromWorker(message: unknown): message is FromWorker {
  return isObject(message) && typeof message.say === 'string';
}

export function isToWorker(message: unknown): message is ToWorker {
  return isObject(message) && typeof message.tell === 'string';
}
