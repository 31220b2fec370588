import { createClient } from '@redis/client';
import type { Address } from '../../../config/redis-url.ts';
import { clientOptions, type RedisTarget } from './target.ts';

const PING_EVERY_MS = 3000;
const LONGEST_RECONNECT_PAUSE_MS = 1000;

export interface ClientLimits {
  /** For one attempt to connect, in milliseconds. */
  connectMs: number;
  /** A connection on which nothing moves for this long, pings included, leads nowhere. In milliseconds. */
  silenceMs: number;
  /**
   * Commands that wait while Redis is away. 0: none, so that nothing is sent later behind the back of a caller who was
   * told that it failed.
   */
  waiting: number;
}

/** A client of one server, not connected yet. `fatal` may end its attempts to connect. */
export function makeClient(
  { target, address, limits }: { target: RedisTarget; address: Address; limits: ClientLimits },
  fatal: (cause: Error) => Error | undefined = () => undefined,
) {
  const { socket, ...rest } = clientOptions(target, address);
  const client = createClient({
    ...rest,
    disableOfflineQueue: limits.waiting === 0,
    commandsQueueMaxLength: limits.waiting,
    pingInterval: PING_EVERY_MS,
    maintNotifications: 'disabled',
    socket: {
      ...socket,
      connectTimeout: limits.connectMs,
      socketTimeout: limits.silenceMs,
      reconnectStrategy: (retries, cause) => fatal(cause) ?? reconnectPause(retries),
    },
  });
  // Shows the gateway in `CLIENT LIST`. A user that may not say its name is served all the same.
  client.on('ready', () => {
    client.sendCommand(['CLIENT', 'SETNAME', 'research-gateway']).catch(() => {});
  });
  return client;
}

function reconnectPause(retries: number): number {
  return Math.min(50 * 2 ** Math.min(retries, 10), LONGEST_RECONNECT_PAUSE_MS) * (0.5 + Math.random() / 2);
}

export type RedisClient = ReturnType<typeof makeClient>;
