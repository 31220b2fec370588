import { createClient } from '@redis/client';
import type { Address } from '../../../config/redis-url.ts';
import { clientOptions, type RedisTarget } from './target.ts';

const PING_EVERY_MS = 3000;
const MAX_RECONNECT_PAUSE_MS = 1000;

export interface ClientLimits {
  /** Limit of one attempt to connect, in milliseconds. */
  connectMs: number;
  /** A connection that is silent for this long, in spite of pings, is considered dead. In milliseconds. */
  silenceMs: number;
  /**
   * Commands that may be queued while Redis is unavailable. 0: a command that failed for its caller is never sent
   * later.
   */
  maxQueued: number;
}

/** A client of one server, not connected yet. `fatal` may end the attempts to connect. */
export function makeClient(
  { target, address, limits }: { target: RedisTarget; address: Address; limits: ClientLimits },
  fatal: (cause: Error) => Error | undefined = () => undefined,
) {
  const { socket, ...rest } = clientOptions(target, address);
  const client = createClient({
    ...rest,
    disableOfflineQueue: limits.maxQueued === 0,
    commandsQueueMaxLength: limits.maxQueued,
    pingInterval: PING_EVERY_MS,
    maintNotifications: 'disabled',
    socket: {
      ...socket,
      connectTimeout: limits.connectMs,
      socketTimeout: limits.silenceMs,
      reconnectStrategy: (retries, cause) => fatal(cause) ?? reconnectPause(retries),
    },
  });
  // Names the gateway in `CLIENT LIST`. A user without the right to do so is fine.
  client.on('ready', () => {
    client.sendCommand(['CLIENT', 'SETNAME', 'research-gateway']).catch(() => {});
  });
  return client;
}

function reconnectPause(retries: number): number {
  return Math.min(50 * 2 ** Math.min(retries, 10), MAX_RECONNECT_PAUSE_MS) * (0.5 + Math.random() / 2);
}

export type RedisClient = ReturnType<typeof makeClient>;
