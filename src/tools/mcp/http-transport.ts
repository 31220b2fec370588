import {
  isJSONRPCNotification,
  isJSONRPCRequest,
  type JSONRPCMessage,
  type JSONRPCNotification,
  type JSONRPCRequest,
  type ReconnectionScheduler,
  type RequestId,
  StreamableHTTPClientTransport,
} from '@modelcontextprotocol/client';

type SendOptions = Parameters<StreamableHTTPClientTransport['send']>[1];

/** JSON-RPC code of the answer that stands in for one that never came; in the range left to implementations. */
export const STREAM_ENDED_CODE = -32_050;

/** Requests whose streams can still be closed; with more of them under way, the oldest are left to the server. */
const MOST_OPEN_REQUESTS = 512;

/** Answers to a server that are on their way at once; what it asks beyond is not answered. */
const MOST_ANSWERS = 16;

/**
 * Streamable HTTP for servers that do not keep to their part. When the stream of a request ends without its response,
 * an error stands in for it: the library would wait until the time limit. When a request is cancelled its exchange is
 * closed as well: a server that hears of it need not stop, and the connection outlives the run.
 */
export class AnsweringHttpTransport extends StreamableHTTPClientTransport {
  readonly #open = new Map<RequestId, AbortController>();
  #answering = 0;

  override async send(message: JSONRPCMessage | JSONRPCMessage[], options?: SendOptions): Promise<void> {
    if (Array.isArray(message)) return await super.send(message, options);
    if (isJSONRPCRequest(message)) return await this.#sendRequest(message, options);
    if (!isJSONRPCNotification(message)) return await this.#sendAnswer(message, options);
    try {
      await super.send(message, options);
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
      // Where the response did come, this one is for an unknown request and is dropped.
      const error = { code: STREAM_ENDED_CODE, message: 'The server ended the stream without an answer.' };
      this.onmessage?.({ jsonrpc: '2.0', id, error });
    };
    await super.send(message, { ...options, requestSignal, onRequestStreamEnd });
  }

  /** What the server asks is answered, but not faster than it hears the answers: each is a request of its own. */
  async #sendAnswer(message: JSONRPCMessage, options?: SendOptions): Promise<void> {
    if (this.#answering >= MOST_ANSWERS) return;
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
    if (this.#open.size > MOST_OPEN_REQUESTS && oldest !== undefined) this.#open.delete(oldest);
    return controller.signal;
  }

  #cancel({ params }: JSONRPCNotification): void {
    const id = params?.requestId;
    if (typeof id !== 'string' && typeof id !== 'number') return;
    this.#open.get(id)?.abort();
    this.#open.delete(id);
  }
}

const LEAST_DELAY_MS = 1_000;
const MOST_RECONNECTIONS = 50;

/**
 * Reconnects streams at a pace of the gateway's. A server may ask for any delay, and every stream it opens and closes
 * again starts a new count.
 */
export function calmReconnections(): ReconnectionScheduler {
  let reconnections = 0;
  return (reconnect, delay) => {
    if (++reconnections > MOST_RECONNECTIONS) return;
    const timer = setTimeout(reconnect, Math.max(delay, LEAST_DELAY_MS));
    timer.unref();
    return () => clearTimeout(timer);
  };
}
