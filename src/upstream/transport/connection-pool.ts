import type { IncomingHttpHeaders } from 'node:http';
import type { Dispatcher } from 'undici';
// A quarter of undici, and of what it costs a start: the rest is `fetch`, caches, proxies and mocks.
import buildConnector from 'undici/lib/core/connect.js';
import Agent from 'undici/lib/dispatcher/agent.js';
import { nextTurn } from '../../base/load/event-loop.ts';
import { atTurnEnd } from '../../base/turn-end.ts';
import { AnswerDecoder, isEncoded } from './answer-decoder.ts';
import { connectInTurn } from './connect-in-turn.ts';
import type { Exchange, ExchangeListener, HeldRequest } from './exchange.ts';

/** How long an idle connection is kept, in milliseconds. */
const KEEP_ALIVE_MS = 30_000;

export interface PoolOptions {
  /** Connections to one origin at most. */
  connections: number;
  /** The limit of a connection's making, in milliseconds. */
  connectMs: number;
}

/**
 * The connections to one provider. Requests go out on undici's lowest level: a quarter of the processor time that they
 * cost through Node's own client, and no promise or stream for what comes back.
 */
export class ConnectionPool implements AsyncDisposable {
  readonly #agent: Agent;

  constructor({ connections, connectMs }: PoolOptions) {
    this.#agent = new Agent({
      connections,
      connect: connectInTurn(buildConnector({ timeout: connectMs, allowH2: false }), { timeoutMs: connectMs }),
      // Deadlines are ours; undici's would end a quiet exchange after 300 s.
      headersTimeout: 0,
      bodyTimeout: 0,
      keepAliveTimeout: KEEP_ALIVE_MS,
      allowH2: false,
    });
  }

  /**
   * Sends a request, at the end of this turn of the event loop; redirects are not followed, they could carry
   * credentials elsewhere.
   */
  send(request: HeldRequest, listener: ExchangeListener): Exchange {
    const exchange = new Dispatched(listener);
    atTurnEnd(() => this.#dispatch(request, exchange));
    return exchange;
  }

  #dispatch({ origin, path, method, headers, body }: HeldRequest, exchange: Dispatched): void {
    if (exchange.aborted) {
      exchange.onResponseError(undefined, exchange.aborted);
      return;
    }
    try {
      this.#agent.dispatch({ origin, path, method, headers, body }, exchange);
    } catch (error) {
      exchange.onResponseError(undefined, error);
    }
  }

  /** Closes the pool once its last exchange is over. */
  async close(): Promise<void> {
    // What was sent in this turn of the event loop is on its way then.
    await nextTurn();
    await this.#agent.close();
  }

  /** Closes every connection at once. */
  async [Symbol.asyncDispose](): Promise<void> {
    await this.#agent.destroy();
  }
}

class Dispatched implements Exchange, Dispatcher.DispatchHandler {
  readonly #listener: ExchangeListener;
  #controller: Dispatcher.DispatchController | undefined;
  #decoder: AnswerDecoder | undefined;
  aborted: Error | undefined;

  constructor(listener: ExchangeListener) {
    this.#listener = listener;
  }

  pause(): void {
    this.#decoder?.pause();
    this.#controller?.pause();
  }

  resume(): void {
    if (this.#decoder?.resume() ?? true) this.#controller?.resume();
  }

  /** A request that waits for a connection has none to close: it ends when its turn comes. */
  abort(reason: Error): void {
    this.aborted = reason;
    this.#decoder?.destroy();
    this.#controller?.abort(reason);
  }

  onRequestStart(controller: Dispatcher.DispatchController): void {
    this.#controller = controller;
    if (this.aborted) controller.abort(this.aborted);
    else this.#listener.sent();
  }

  onResponseStart(controller: Dispatcher.DispatchController, status: number, headers: IncomingHttpHeaders): void {
    if (status < 200) return;
    if (!isEncoded(headers['content-encoding'])) {
      this.#listener.head({ status, headers });
      return;
    }
    const { 'content-encoding': encoding, 'content-length': _, ...others } = headers;
    this.#decoder = new AnswerDecoder(encoding, {
      data: (chunk) => this.#listener.data(chunk),
      end: () => this.#listener.end(),
      error: (error) => this.#listener.error(error),
      pause: () => controller.pause(),
      resume: () => controller.resume(),
    });
    this.#listener.head({ status, headers: others });
  }

  onResponseData(_controller: unknown, chunk: Buffer): void {
    if (this.#decoder) this.#decoder.write(chunk);
    else this.#listener.data(chunk);
  }

  onResponseEnd(): void {
    if (this.#decoder) this.#decoder.end();
    else this.#listener.end();
  }

  onResponseError(_controller: unknown, error: unknown): void {
    this.#decoder?.destroy();
    this.#listener.error(error);
  }
}
