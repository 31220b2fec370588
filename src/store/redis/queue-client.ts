import { createClient } from '@redis/client';
import { withTimeout } from '../../base/abort.ts';
import { messageOf } from '../../base/errors.ts';
import type { Logger } from '../../base/logger.ts';
import { isRedirect, leadsToReplica } from './failure.ts';
import { tellName } from './make-client.ts';
import { type Locate, MovingClient } from './moving-client.ts';
import { type Address, clientOptions, type RedisTarget } from './target.ts';

const CONNECT_LIMIT_MS = 5000;
/** Above the longest wait of a queue for work, during which nothing comes. */
const SILENCE_LIMIT_MS = 15_000;
const LONGEST_RECONNECT_PAUSE_MS = 1000;
/** Commands that wait for Redis to come back. Who asks for more than that is told at once. */
const MOST_WAITING_COMMANDS = 10_000;

function makeClient(target: RedisTarget, address: Address, lost: () => void) {
  const { socket, ...rest } = clientOptions(target, address);
  const client = createClient({
    ...rest,
    pingInterval: 3000,
    maintNotifications: 'disabled',
    commandsQueueMaxLength: MOST_WAITING_COMMANDS,
    socket: {
      ...socket,
      connectTimeout: CONNECT_LIMIT_MS,
      socketTimeout: SILENCE_LIMIT_MS,
      reconnectStrategy: (retries) => {
        lost();
        return Math.min(50 * 2 ** Math.min(retries, 10), LONGEST_RECONNECT_PAUSE_MS) * (0.5 + Math.random() / 2);
      },
    },
  });
  tellName(client);
  return client;
}

type Client = ReturnType<typeof makeClient>;

/** What a queue of work is kept in: a connection that is its own to use and to duplicate. */
export interface QueueConnection extends AsyncDisposable {
  readonly client: Client;
  /** Before every key. The hash tag in it keeps a queue together in Redis Cluster. */
  readonly prefix: string;
  /** Told of every failure of the queue: looks for the new master where this one was demoted. */
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
export async function openQueueClient(options: {
  target: RedisTarget;
  prefix: string;
  log: Logger;
  locate: Locate | undefined;
}): Promise<QueueConnection> {
  const { target, locate, log } = options;
  const clients = new QueueClients({ ...options, address: locate ? await locate() : target.nodes[0] });
  const close = async () => clients.close();
  try {
    const { client } = clients;
    await withTimeout('connecting', CONNECT_LIMIT_MS, () => client.connect());
    return {
      client,
      prefix: queuePrefix(options.prefix),
      failed(thrown) {
        if (leadsToReplica(thrown) || isRedirect(thrown)) clients.restart();
      },
      [Symbol.asyncDispose]: close,
    };
  } catch (thrown) {
    await close();
    log.debug({ reason: messageOf(thrown) }, 'no connection for the queue');
    throw new Error(`store.url: no connection to Redis for the queue of runs: ${messageOf(thrown)}`, { cause: thrown });
  }
}

/** A client for a queue, and whatever is duplicated from it later: while Redis is away, nobody else can close those. */
class QueueClients {
  readonly #options: { target: RedisTarget; locate: Locate | undefined; log: Logger; address: Address };
  readonly #all = new Set<MovingClient<Client>>();
  readonly client: Client;

  constructor(options: { target: RedisTarget; locate: Locate | undefined; log: Logger; address: Address }) {
    this.#options = options;
    this.client = this.#open(options.address);
  }

  /** The servers are others by now, or this one was demoted. */
  restart(): void {
    for (const moving of this.#all) moving.restart((thrown) => this.#failed(thrown));
  }

  close(): void {
    for (const moving of this.#all) {
      moving.close();
      if (moving.current.isOpen) moving.current.destroy();
    }
  }

  #failed(thrown: unknown): void {
    this.#options.log.debug({ reason: messageOf(thrown) }, 'connection of the queue failed');
  }

  /**
   * A client that stays the same object while what is underneath moves. Its listeners hear of the client of the moment.
   */
  #open(address: Address): Client {
    const { target, locate, log } = this.#options;
    const moving: MovingClient<Client> = new MovingClient({
      address,
      locate,
      log,
      make: (at, lost) => {
        const client = makeClient(target, at, lost);
        client.on('error', (thrown: unknown) => this.#failed(thrown));
        return client;
      },
      moved: async (client) => {
        forward(client, first);
        first.emit('ready');
      },
    });
    this.#all.add(moving);
    const first = moving.current;
    return new Proxy(first, {
      get: (_, name) => {
        if (name === 'duplicate') return () => this.#open(moving.address);
        if (name === 'on') return (event: string, listener: Listener) => listen(first, event, listener);
        const owner = LISTENING.has(name) ? first : moving.current;
        const value: unknown = Reflect.get(owner, name, owner);
        return typeof value === 'function' ? value.bind(owner) : value;
      },
    });
  }
}

/** What is done with the listeners of a client. */
const LISTENING: ReadonlySet<string | symbol> = new Set([
  'on',
  'once',
  'off',
  'addListener',
  'removeListener',
  'removeAllListeners',
  'emit',
  'listenerCount',
  'getMaxListeners',
  'setMaxListeners',
]);

type Listener = (...args: unknown[]) => void;

/**
 * Listeners for errors may throw: the queue's adapter passes errors on to whoever listens to it, and once the queue is
 * closed that is nobody. An error that nobody waits for must not end the process.
 */
function listen(client: Client, event: string, listener: Listener): void {
  if (event !== 'error') return void client.on(event, listener);
  client.on(event, (...args: unknown[]) => {
    try {
      listener(...args);
    } catch {
      // It was logged where it came up.
    }
  });
}

function forward(from: Client, to: Client): void {
  for (const event of ['ready', 'end', 'reconnecting']) from.on(event, () => to.emit(event));
  from.on('error', (thrown: unknown) => to.emit('error', thrown));
}
