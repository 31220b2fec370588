import { EventEmitter } from 'node:events';
import { withTimeout } from '../../../base/abort.ts';
import { messageOf } from '../../../base/errors.ts';
import type { Logger } from '../../../base/logger.ts';
import type { Address } from '../../../config/redis-url.ts';
import { leadsToReplica, parseRedirect } from './failure.ts';
import { makeClient, type RedisClient } from './make-client.ts';
import { formatAddress, type RedisTarget } from './target.ts';
import type { Topology } from './topology.ts';

const CONNECT_LIMIT_MS = 5000;
const LIMITS = {
  connectMs: CONNECT_LIMIT_MS,
  /** Longer than a queue waits for work, during which nothing is sent. */
  silenceMs: 15_000,
  /** More commands fail at once. */
  maxQueued: 10_000,
};

/** The connection of a work queue, which may use and duplicate it. */
export interface QueueConnection extends AsyncDisposable {
  readonly client: RedisClient;
  /** Prefix of every key. Its hash tag keeps a queue together in Redis Cluster. */
  readonly prefix: string;
  /** Call it for every failure of the queue: it looks for the new master if this one was demoted. */
  onFailure(thrown: unknown): void;
}

/** All keys of the queue are in the slot of this tag. */
export function queuePrefix(prefix: string): string {
  return `{${prefix}:queue}`;
}

/**
 * Opens a connection for a queue, to the one server that holds it. Unlike the connection of the store, it queues
 * commands while Redis is unavailable: nobody waits for a queue that waits for work, and if its commands failed at once
 * it would repeat them again and again.
 * @throws Error if there is no connection within 5 s.
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
      onFailure(thrown) {
        if (parseRedirect(thrown)) topology.refresh().catch(() => {});
        if (leadsToReplica(thrown) && client.isReady) clients.reconnect();
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
  /** A key on the server to connect to. */
  key: string;
}

/** A client for a queue, and all its later duplicates: while Redis is unavailable, nobody else can close those. */
class QueueClients {
  readonly #options: QueueClientsOptions;
  readonly #all = new Set<{ reconnect(): void; close(): void }>();
  readonly #topologyListener: Disposable;
  readonly client: RedisClient;
  #address: Address;

  constructor(options: QueueClientsOptions) {
    const { topology, key } = options;
    this.#options = options;
    this.#address = topology.ownerOf(key);
    this.client = this.#open();
    this.#topologyListener = topology.onChange(() => {
      const address = topology.find(key);
      if (!address || formatAddress(address) === formatAddress(this.#address)) return;
      this.#address = address;
      this.reconnect();
    });
  }

  /** Connects again, to wherever the server is now. Commands in progress fail. */
  reconnect(): void {
    for (const client of this.#all) client.reconnect();
  }

  close(): void {
    this.#topologyListener[Symbol.dispose]();
    for (const client of this.#all) client.close();
  }

  /** A client that stays the same object when its connection is replaced: BullMQ keeps the one it was given. */
  #open(): RedisClient {
    const events = new EventEmitter();
    let current = this.#make(events);
    this.#all.add({
      reconnect: () => {
        const last = current;
        last.removeAllListeners();
        last.on('error', () => {});
        current = this.#make(events);
        // If BullMQ has closed the client, it stays closed.
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
        // BullMQ throws errors that have no listener, such as those of a closed queue.
      }
    });
    return client;
  }

  #failed(thrown: unknown): void {
    this.#options.log.debug({ reason: messageOf(thrown) }, 'connection of the queue failed');
  }
}
