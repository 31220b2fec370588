import type { Dispatcher } from 'undici';
// These two modules are a quarter of undici and of its start-up cost: the rest is `fetch`, caches, proxies and mocks.
import buildConnector from 'undici/lib/core/connect.js';
import Agent from 'undici/lib/dispatcher/agent.js';
import { GatewayError } from '../../base/errors.ts';
import { FairSemaphore, type Permit } from '../../base/fair-semaphore.ts';
import { workOwner } from '../../base/load/event-loop.ts';
import { connectInTurn } from './connect-in-turn.ts';
import { withoutContinue } from './without-continue.ts';

/** How long an idle connection stays open, in milliseconds. */
const KEEP_ALIVE_MS = 30_000;

/** A request whose body is in memory, so that it can be sent again, to another route too. */
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
  /** How many connections to one origin may be open. */
  connections: number;
  /** How long opening a connection may take, in milliseconds. */
  connectMs: number;
}

/**
 * The connections to one provider. Requests go out on undici's lowest level, at a quarter of the processor time of Node's
 * own client, and without a promise or stream for the answer.
 */
export class ConnectionPool implements AsyncDisposable {
  readonly #agent: Agent;
  /** One for each connection: undici would serve waiting requests in the order in which they came. */
  readonly #places: FairSemaphore;

  constructor({ connections, connectMs }: PoolOptions) {
    this.#places = new FairSemaphore({
      name: 'provider_connections',
      permits: connections,
      maxWaiting: Number.POSITIVE_INFINITY,
      fullError: () => new GatewayError('overloaded', 'Too many requests wait for a provider. Try again.'),
    });
    this.#agent = new Agent({
      connections,
      connect: connectInTurn(withoutContinue(buildConnector({ timeout: connectMs, allowH2: false })), {
        timeoutMs: connectMs,
      }),
      // `Deadline` sets the limits; undici's own would end a quiet call after 300 s.
      headersTimeout: 0,
      bodyTimeout: 0,
      keepAliveTimeout: KEEP_ALIVE_MS,
      allowH2: false,
    });
  }

  /** Calls that wait for a place. */
  get waiting(): number {
    return this.#places.waiting;
  }

  /**
   * Calls `begin` with a place for a call, to be disposed of at its end: at once, or when its turn comes. API keys take
   * fair turns. Where it has to wait, returns what ends the wait.
   */
  enter(begin: (place: Permit) => void): AbortController | undefined {
    const owner = workOwner();
    const place = this.#places.tryAcquire(owner);
    if (place) {
      begin(place);
      return undefined;
    }
    const wait = new AbortController();
    this.#places.acquire(owner, wait.signal).then(begin, () => {});
    return wait;
  }

  /** Sends a request that has a place. Redirects are not followed: they could carry credentials elsewhere. @throws for an invalid request. */
  dispatch({ origin, path, method, headers, body }: BufferedRequest, handler: Dispatcher.DispatchHandler): void {
    this.#agent.dispatch({ origin, path, method, headers, body }, handler);
  }

  /** Closes the pool once its last call is over. */
  async close(): Promise<void> {
    await this.#agent.close();
  }

  /** Closes every connection at once. */
  async [Symbol.asyncDispose](): Promise<void> {
    await this.#agent.destroy();
  }
}
