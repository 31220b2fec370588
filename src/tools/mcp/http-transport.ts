import {
  isJSONRPCNotification,
  isJSONRPCRequest,
  type JSONRPCMessage,
  type JSONRPCNotification,
  type JSONRPCRequest,
  type ReconnectionScheduler,
  type RequestId,
  SdkHttpError,
  StreamableHTTPClientTransport,
} from '@modelcontextprotocol/client';

type SendOptions = Parameters<StreamableHTTPClientTransport['send']>[1];

/** The JSON-RPC code of the error that replaces a missing answer; in the range for implementations. */
export const STREAM_ENDED_CODE = -32_050;

/** How many requests can be cancelled by closing their streams; beyond that, the oldest are left to the server. */
const MAX_OPEN_REQUESTS = 512;

/** How many answers to a server's requests may be in flight; further requests of the server are not answered. */
const MAX_ANSWERS = 16;

/**
 * Streamable HTTP that copes with servers that break the protocol. If the stream of a request ends without a response, the
 * request fails with an error, where the library would wait for its time limit. If a request is cancelled, its exchange is
 * closed, too, because a server that is notified need not stop, and the connection outlives the run.
 */
export class TolerantHttpTransport extends StreamableHTTPClientTransport {
  readonly #open = new Map<RequestId, AbortController>();
  #answering = 0;

  override async send(message: JSONRPCMessage | JSONRPCMessage[], options?: SendOptions): Promise<void> {
    if (Array.isArray(message)) return await super.send(message, options);
    if (isJSONRPCRequest(message)) return await this.#sendRequest(message, options);
    if (!isJSONRPCNotification(message)) return await this.#sendAnswer(message, options);
    try {
      await super.send(message, options);
    } catch (error) {
      // Nothing waits for the answer to a notification, and servers written by hand refuse those that they do not know.
      if (!(error instanceof SdkHttpError) || error.status === 401 || error.status === 403) throw error;
    } finally {
      if (message.method === 'notifications/cancelled') this.#cancel(message);
    }
  }

  async #sendRequest(message: JSONRPCRequest, options?: SendOptions): Promise<void> {
    const { id } = message;
    const requestSignal = options?.requestSignal ?? this.#openRequest(id);
    const onRequestStreamEnd = () => {
      this.#open.delete(id);
      options?.onRequestStreamEnd?.();
      // If the response did arrive, the request is no longer known and this error is dropped.
      const error = { code: STREAM_ENDED_CODE, message: 'The server ended the stream without an answer.' };
      this.onmessage?.({ jsonrpc: '2.0', id, error });
    };
    await super.send(message, { ...options, requestSignal, onRequestStreamEnd });
  }

  /** Answers a request of the server. Each answer is an HTTP request of its own, so their number is limited. */
  async #sendAnswer(message: JSONRPCMessage, options?: SendOptions): Promise<void> {
    if (this.#answering >= MAX_ANSWERS) return;
    this.#answering++;
    try {
      await super.send(message, options);
    } finally {
      this.#answering--;
    }
  }

  #openRequest(id: RequestId): AbortSignal {
    const controller = new AbortController();
    this.#open.set(id, controller);
    const [oldest] = this.#open.keys();
    if (this.#open.size > MAX_OPEN_REQUESTS && oldest !== undefined) this.#open.delete(oldest);
    return controller.signal;
  }

  #cancel({ params }: JSONRPCNotification): void {
    const id = params?.requestId;
    if (typeof id !== 'string' && typeof id !== 'number') return;
    this.#open.get(id)?.abort();
    this.#open.delete(id);
  }
}

const MIN_DELAY_MS = 1_000;
const MAX_RECONNECTIONS = 50;

/**
 * Limits how often and how fast streams are reconnected. A server may ask for any delay, and the library counts anew for
 * each stream.
 */
export function limitReconnections(): ReconnectionScheduler {
  let reconnections = 0;
  return (reconnect, delay) => {
    if (++reconnections > MAX_RECONNECTIONS) return;
    const timer = setTimeout(reconnect, Math.max(delay, MIN_DELAY_MS));
    timer.unref();
    return () => clearTimeout(timer);
  };
}
