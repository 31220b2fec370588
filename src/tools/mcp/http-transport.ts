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
import { isObject, parseJson } from '../../base/json.ts';
import { ToolError } from '../tool.ts';

type SendOptions = Parameters<StreamableHTTPClientTransport['send']>[1];
type TransportOptions = NonNullable<ConstructorParameters<typeof StreamableHTTPClientTransport>[1]>;

/** The JSON-RPC code of the error that replaces a missing answer; in the range for implementations. */
export const STREAM_ENDED_CODE = -32_050;

/** How many requests can be cancelled by closing their streams; beyond that, the oldest are left to the server. */
const MAX_OPEN_REQUESTS = 512;

/** How many answers to a server's requests may be in flight; further requests of the server are not answered. */
const MAX_ANSWERS = 16;

/** A request to the server and its HTTP exchange. */
interface Exchange {
  readonly id: RequestId;
  readonly controller: AbortController;
  isAnswered: boolean;
  /** Why this exchange brings no answer any more; undefined while it may. */
  ended?: string;
}

/**
 * Streamable HTTP that copes with servers that break the protocol. If the exchange of a request ends without its answer, the
 * request fails with an error, where the library would wait for its time limit. Some servers send answers over the stream
 * that GET opens, so a request waits for that one if the server has it. If a request is cancelled, its exchange is closed,
 * too, because a server that is notified need not stop, and the connection outlives the run.
 */
export class TolerantHttpTransport extends StreamableHTTPClientTransport {
  readonly #open = new Map<RequestId, Exchange>();
  #answering = 0;
  /** Whether the server may have a stream beside those of its requests. */
  #hasOwnStream = false;

  constructor(url: URL, options: TransportOptions & { fetch: typeof fetch }) {
    super(url, { ...options, fetch: async (input, init) => await this.#exchange(options.fetch, input, init) });
  }

  /** Notes that a request is answered, by whatever stream. */
  answered(id: RequestId): void {
    const exchange = this.#open.get(id);
    if (exchange) exchange.isAnswered = true;
    this.#open.delete(id);
  }

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
    const exchange = this.#openExchange(message.id);
    const { signal } = exchange.controller;
    const requestSignal = options?.requestSignal ? AbortSignal.any([options.requestSignal, signal]) : signal;
    const onRequestStreamEnd = () => {
      options?.onRequestStreamEnd?.();
      this.#fail(exchange, 'The server ended the stream without an answer.');
    };
    await super.send(message, { ...options, requestSignal, onRequestStreamEnd });
    if (exchange.ended !== undefined && !this.#hasOwnStream) this.#fail(exchange, exchange.ended);
  }

  /** An HTTP request of the library: notes how the exchange of a JSON-RPC request ends. */
  async #exchange(send: typeof fetch, ...[input, init]: Parameters<typeof fetch>): Promise<Response> {
    if (init?.method === 'GET' && !new Headers(init.headers).has('last-event-id'))
      return await this.#openOwnStream(() => send(input, init));
    const response = await send(input, init);
    const message = typeof init?.body === 'string' ? parseJson(init.body) : undefined;
    const exchange = isObject(message) && 'method' in message && this.#open.get(Number(message.id));
    if (!exchange || !response.ok) return response;
    if (response.body && /^text\/event-stream/i.test(response.headers.get('content-type') ?? '')) {
      return new Response(ReadableStream.from(this.#readable(exchange, response.body)), response);
    }
    exchange.ended =
      response.status === 202
        ? 'The server accepted the request (HTTP 202), but has no stream to answer it.'
        : 'The server answered without the id of the request.';
    return response;
  }

  /** Requests wait for this stream if their own exchange has ended, unless it cannot be opened. */
  async #openOwnStream(open: () => Promise<Response>): Promise<Response> {
    this.#hasOwnStream = true;
    let isOpen = false;
    try {
      const response = await open();
      isOpen = response.ok;
      return response;
    } finally {
      this.#hasOwnStream = isOpen;
      for (const exchange of isOpen ? [] : this.#open.values())
        if (exchange.ended !== undefined) this.#fail(exchange, exchange.ended);
    }
  }

  /** The stream of a request. If it breaks a limit of ours, the request fails with that; resuming it would not help. */
  async *#readable(exchange: Exchange, body: ReadableStream<Uint8Array>): AsyncGenerator<Uint8Array> {
    try {
      yield* body;
    } catch (error) {
      if (error instanceof ToolError && error.code !== 'unreachable') {
        this.#fail(exchange, error.message, error);
        exchange.controller.abort();
      }
      throw error;
    }
  }

  /** Answers a request with an error in the server's place, if it has no answer. */
  #fail(exchange: Exchange, message: string, cause?: ToolError): void {
    const { id, isAnswered } = exchange;
    this.answered(id);
    if (isAnswered) return;
    const error = { code: STREAM_ENDED_CODE, message, ...(cause && { data: { cause } }) };
    this.onmessage?.({ jsonrpc: '2.0', id, error });
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

  #openExchange(id: RequestId): Exchange {
    const exchange: Exchange = { id, controller: new AbortController(), isAnswered: false };
    this.#open.set(id, exchange);
    const [oldest] = this.#open.keys();
    if (this.#open.size > MAX_OPEN_REQUESTS && oldest !== undefined) this.#open.delete(oldest);
    return exchange;
  }

  #cancel({ params }: JSONRPCNotification): void {
    const id = params?.requestId;
    if (typeof id !== 'string' && typeof id !== 'number') return;
    this.#open.get(id)?.controller.abort();
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
