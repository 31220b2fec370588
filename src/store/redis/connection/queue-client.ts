import { EventEmitter } from 'node:events';
import { withTimeout } from '../../../base/abort.ts';
import { messageOf } from '../../../base/errors.ts';
import type { Logger } from '../../../base/logger.ts';
import type { Address } from '../../../config/redis-url.ts';
import { isRedirect, leadsToReplica } from './failure.ts';
import { makeClient, type RedisClient } from './make-client.ts';
import { nameOf, type RedisTarget } from './target.ts';
import type { Topology } from './topology.ts';

const CONNECT_LIMIT_MS = 5000;
const LIMITS = {
  connectMs: CONNECT_LIMIT_MS,
  /** Above the longest wait of a queue for work, during which nothing comes. */
  silenceMs: 15_000,
  /** Commands beyond that fail at once. */
  waiting: 10_000,
};

/** What a queue of work is kept in: a connection that is its own to use and to duplicate. */
export interface QueueConnection extends AsyncDisposable {
  readonly client: RedisClient;
  /** Before every key. The hash tag in it keeps a queue together in Redis Cluster. */
  readonly prefix: string;
  /** Called for every failure of the queue: looks for the new master where this one was demoted. */
  failed(thrown: unknown): void;
}

/** All keys of the queue lie in the slot of this tag. */
export function queuePrefix(prefix: string): string {
  return `{${prefix}:queue}`;
}

/**
 * Opens a connection for a queue, to the one server that it lies on. Other than the store's own, it keeps commands
 * while Redis is away: a queue waits for work without anyone waiting for the queue, and one that failed at once would
 * ask again and again.
 * @throws Error where there is no connection within 5 s.
 */
export async function openQueueClient(
  options: Omit<QueueClientsOptions, 'key'> & { prefix: string },
): Promise<QueueConnection> {
  const { log, topology } = options;
  const prefix = queuePrefix(options.prefix);
  const clients = new QueueClients({ ...options, key: prefix });
  try {
    const { client } = clients;
    await withTimeout('connecting', CONNECT_LIMIT_MS, () => client.connect());
    return {
      client,
      prefix,
      failed(thrown) {
        if (isRedirect(thrown)) topology.refresh().catch(() => {});
        if (leadsToReplica(thrown) && client.isReady) clients.renew();
      },
      [Symbol.asyncDispose]: async () => clients.close(),
    };
  } catch (thrown) {
    clients.close();
    log.debug({ reason: messageOf(thrown) }, 'no connection for the queue');
    throw new Error(`store.url: no connection to Redis for the queue of runs: ${messageOf(thrown)}`, { cause: thrown });
  }
}

interface QueueClientsOptions {
  target: RedisTarget;
  topology: Topology;
  log: Logger;
  /** A key on the server that is meant. */
  key: string;
}

/** A client for a queue, and whatever is duplicated from it later: while Redis is away, nobody else can close those. */
class QueueClients {
  readonly #options: QueueClientsOptions;
  readonly #all = new Set<{ renew(): void; close(): void }>();
  readonly #following: Disposable;
  readonly client: RedisClient;
  #address: Address;

  constructor(options: QueueClientsOptions) {
    const { topology, key } = options;
    this.#options = options;
    this.#address = topology.ownerOf(key);
    this.client = this.#open();
    this.#following = topology.onChange(() => {
      const address = topology.find(key);
      if (!address || nameOf(address) === nameOf(this.#address)) return;
      this.#address = address;
      this.renew();
    });
  }

  /** Connects anew, wherever the server is by then. What was under way fails. */
  renew(): void {
    for (const client of this.#all) client.renew();
  }

  close(): void {
    this.#following[Symbol.dispose]();
    for (const client of this.#all) client.close();
  }

  /** A client that stays the same object while what is underneath is renewed: BullMQ keeps the one that it was given. */
  #open(): RedisClient {
    const events = new EventEmitter();
    let current = this.#make(events);
    this.#all.add({
      renew: () => {
        const last = current;
        last.removeAllListeners();
        last.on('error', () => {});
        current = this.#make(events);
        // What BullMQ has closed stays so.
        if (!last.isOpen) return;
        current.connect().catch((thrown: unknown) => this.#failed(thrown));
        last.destroy();
      },
      close: () => {
        if (current.isOpen) current.destroy();
      },
    });
    return new Proxy(current, {
      get: (_, name) => {
        if (name === 'duplicate') return () => this.#open();
        if (name === 'on') return (event: string, listener: (...args: unknown[]) => void) => events.on(event, listener);
        const value: unknown = Reflect.get(current, name, current);
        return typeof value === 'function' ? value.bind(current) : value;
      },
    });
  }

  #make(events: EventEmitter): RedisClient {
    const client = makeClient({ target: this.#options.target, address: this.#address, limits: LIMITS });
    for (const event of ['ready', 'end', 'reconnecting']) client.on(event, () => events.emit(event));
    client.on('error', (thrown: unknown) => {
      this.#failed(thrown);
      try {
        events.emit('error', thrown);
      } catch {
        // BullMQ throws on errors that nobody listens to, such as those of a queue that was closed.
      }
    });
    return client;
  }

  #failed(thrown: unknown): void {
    this.#options.log.debug({ reason: messageOf(thrown) }, 'connection of the queue failed');
  }
}
