import type { Dispatcher } from 'undici';
// A quarter of undici, and of what it costs a start: the rest is `fetch`, caches, proxies and mocks.
import buildConnector from 'undici/lib/core/connect.js';
import Agent from 'undici/lib/dispatcher/agent.js';
import { connectInTurn } from './connect-in-turn.ts';
import { withoutContinue } from './without-continue.ts';

/** How long an idle connection is kept, in milliseconds. */
const KEEP_ALIVE_MS = 30_000;

/** A request that is held in memory, so that it can be sent again, on another route too. */
export interface BufferedRequest {
  method: string;
  /** Scheme, host and port. */
  origin: string;
  path: string;
  /** Names in lower case. */
  headers: Readonly<Record<string, string>>;
  body: Buffer | string | null;
}

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
      connect: connectInTurn(withoutContinue(buildConnector({ timeout: connectMs, allowH2: false })), {
        timeoutMs: connectMs,
      }),
      // Deadlines are ours; undici's would end a quiet exchange after 300 s.
      headersTimeout: 0,
      bodyTimeout: 0,
      keepAliveTimeout: KEEP_ALIVE_MS,
      allowH2: false,
    });
  }

  /** Sends a request; redirects are not followed, they could carry credentials elsewhere. @throws for a senseless one. */
  dispatch({ origin, path, method, headers, body }: BufferedRequest, handler: Dispatcher.DispatchHandler): void {
    this.#agent.dispatch({ origin, path, method, headers, body }, handler);
  }

  /** Closes the pool once its last exchange is over. */
  async close(): Promise<void> {
    await this.#agent.close();
  }

  /** Closes every connection at once. */
  async [Symbol.asyncDispose](): Promise<void> {
    await this.#agent.destroy();
  }
}
