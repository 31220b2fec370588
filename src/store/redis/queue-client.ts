import { createClient } from '@redis/client';
import { withTimeout } from '../../base/abort.ts';
import { messageOf } from '../../base/errors.ts';
import type { Logger } from '../../base/logger.ts';
import { leadsToReplica } from './failure.ts';

const CONNECT_LIMIT_MS = 5000;
/** Above the longest wait of a queue for work, during which nothing comes. */
const SILENCE_LIMIT_MS = 15_000;
const LONGEST_RECONNECT_PAUSE_MS = 1000;
/** Commands that wait for Redis to come back. Who asks for more than that is told at once. */
const MOST_WAITING_COMMANDS = 10_000;

function makeClient(url: string) {
  return createClient({
    url,
    name: 'research-gateway',
    pingInterval: 3000,
    maintNotifications: 'disabled',
    commandsQueueMaxLength: MOST_WAITING_COMMANDS,
    socket: {
      connectTimeout: CONNECT_LIMIT_MS,
      socketTimeout: SILENCE_LIMIT_MS,
      reconnectStrategy: (retries) =>
        Math.min(50 * 2 ** Math.min(retries, 10), LONGEST_RECONNECT_PAUSE_MS) * (0.5 + Math.random() / 2),
    },
  });
}

/** What a queue of work is kept in: a connection that is its own to use and to duplicate. */
export interface QueueConnection extends AsyncDisposable {
  readonly client: Client;
  /** Before every key. The hash tag in it keeps a queue together in Redis Cluster. */
  readonly prefix: string;
  /** Told of every failure of the queue: looks for the new master where this one was demoted. */
  failed(thrown: unknown): void;
}

/**
 * Opens a connection for a queue. Other than the store's own, it keeps commands while Redis is away: a queue waits for
 * work without anyone waiting for the queue, and one that failed at once would ask again and again.
 * @throws Error where there is no connection within 5 s.
 */
export async function openQueueClient(options: { url: string; prefix: string; log: Logger }): Promise<QueueConnection> {
  const { url, prefix, log } = options;
  const client = makeClient(url);
  client.on('error', (thrown: unknown) => log.debug({ reason: messageOf(thrown) }, 'connection of the queue failed'));
  const all = withDuplicates(client);
  const close = async () => {
    for (const each of all) if (each.isOpen) each.destroy();
  };
  try {
    await withTimeout('connecting', CONNECT_LIMIT_MS, () => client.connect());
  } catch (thrown) {
    await close();
    throw new Error(`store.url: no connection to Redis for the queue of runs: ${messageOf(thrown)}`, { cause: thrown });
  }
  return {
    client,
    prefix: `{${prefix}:queue}`,
    failed(thrown) {
      if (!leadsToReplica(thrown) || !client.isReady) return;
      client.destroy();
      client.connect().catch((again: unknown) => log.debug({ reason: messageOf(again) }, 'reconnecting failed'));
    },
    [Symbol.asyncDispose]: close,
  };
}

type Client = ReturnType<typeof makeClient>;

/** The client and whatever is duplicated from it later: while Redis is away, nobody else can close those. */
function withDuplicates(client: Client): ReadonlySet<Pick<Client, 'isOpen' | 'destroy'>> {
  const all = new Set<Pick<Client, 'isOpen' | 'destroy'>>([client]);
  const duplicate = client.duplicate.bind(client);
  Object.defineProperty(client, 'duplicate', {
    value: (overrides?: Parameters<typeof duplicate>[0]) => {
      const copy = duplicate(overrides);
      all.add(copy);
      return copy;
    },
  });
  return all;
}
