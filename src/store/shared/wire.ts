import type { Socket } from 'node:net';
import { deserialize, serialize } from 'node:v8';
import { GatewayError, type GatewayErrorOptions, isErrorCode } from '../../base/errors.ts';
import type { RunId } from '../../base/ids.ts';
import type { CounterWindow } from '../limit-store.ts';
import type { LogBatch, RunChange } from '../run-store.ts';
import type { SideStores } from '../side-stores/side-stores.ts';

/**
 * The protocol between the processes of one gateway and the one that holds the store: messages in both directions over
 * a local socket, those of one tick sent together. Both ends are of the same version and trust each other.
 */

/** A deserialized value, exactly as another process of this gateway sent it. */
export type WireValue = ReturnType<typeof deserialize>;

/** The object whose method is called. */
export type Callee =
  | { of: 'runs' | 'limits' | 'storage' }
  | { of: 'side'; store: keyof SideStores }
  | ({ of: 'counter' | 'budget' } & CounterWindow)
  | { of: 'slots'; name: string };

/** From a worker. `call` identifies a request that is answered. */
export type StoreRequest =
  | { ask: 'call'; call: number; callee: Callee; method: string; args: readonly unknown[] }
  | { ask: 'subscribe'; call: number; id: RunId; subscription: number }
  | { ask: 'unsubscribe'; subscription: number };

/** To a worker. */
export type StoreReply =
  | { say: 'value'; call: number; value: WireValue }
  | { say: 'error'; call: number; error: WireError }
  | { say: 'batch'; subscription: number; batch: LogBatch }
  | { say: 'gap'; subscription: number }
  | { say: 'change'; change: RunChange };

/** An error without its cause, which stays in the log of the process where it happened. */
interface WireError {
  code: string;
  message: string;
  param: string | null;
  retryAfterMs: number | undefined;
}

export function toWireError(thrown: unknown): WireError {
  if (thrown instanceof GatewayError) {
    const { code, message, param, retryAfterMs } = thrown;
    return { code, message, param, retryAfterMs };
  }
  return { code: 'internal_error', message: String(thrown), param: null, retryAfterMs: undefined };
}

export function fromWireError({ code, message, param, retryAfterMs }: WireError): GatewayError {
  const options: GatewayErrorOptions = {};
  if (param !== null) options.param = param;
  if (retryAfterMs !== undefined) options.retryAfterMs = retryAfterMs;
  return new GatewayError(isErrorCode(code) ? code : 'internal_error', message, options);
}

const HEADER_BYTES = 4;

/** Sends the messages of one tick in one write. */
export class Outbox<Message> {
  readonly #socket: Socket;
  #waiting: Message[] = [];

  constructor(socket: Socket) {
    this.#socket = socket;
  }

  /** Bytes that the other end has not read yet. */
  get unsentBytes(): number {
    return this.#socket.writableLength;
  }

  send(message: Message): void {
    this.#waiting.push(message);
    if (this.#waiting.length === 1) setImmediate(() => this.#flush());
  }

  #flush(): void {
    const messages = this.#waiting;
    this.#waiting = [];
    if (!this.#socket.writable) return;
    const body = serialize(messages);
    const header = Buffer.allocUnsafe(HEADER_BYTES);
    header.writeUInt32LE(body.length);
    this.#socket.cork();
    this.#socket.write(header);
    this.#socket.write(body);
    this.#socket.uncork();
  }
}

/** Calls `onMessage` with each message from the `Outbox` at the other end, in order. */
export function readMessages<Message>(socket: Socket, onMessage: (message: Message) => void): void {
  let chunks: Buffer[] = [];
  let buffered = 0;
  let wanted = HEADER_BYTES;
  let inBody = false;
  socket.on('data', (chunk: Buffer) => {
    chunks.push(chunk);
    buffered += chunk.length;
    if (buffered < wanted) return;
    let bytes = chunks.length === 1 ? chunk : Buffer.concat(chunks);
    while (bytes.length >= wanted) {
      const part = bytes.subarray(0, wanted);
      bytes = bytes.subarray(wanted);
      if (inBody) {
        const messages: Message[] = deserialize(part);
        for (const message of messages) onMessage(message);
      }
      wanted = inBody ? HEADER_BYTES : part.readUInt32LE();
      inBody = !inBody;
    }
    chunks = bytes.length === 0 ? [] : [bytes];
    buffered = bytes.length;
  });
}
