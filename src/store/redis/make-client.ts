import { createClient } from '@redis/client';
import { type Address, clientOptions, type RedisTarget } from './target.ts';

/** For one attempt to connect, in milliseconds. */
const ATTEMPT_LIMIT_MS = 3000;
const PING_EVERY_MS = 3000;
/** A connection on which nothing moves for this long, pings included, leads nowhere. In milliseconds. */
const SILENCE_LIMIT_MS = 10_000;

/** A client of one server, not connected yet. */
export function makeClient(
  { target, address }: { target: RedisTarget; address: Address },
  reconnect: (retries: number, cause: Error) => number | Error,
) {
  const { socket, ...rest } = clientOptions(target, address);
  const client = createClient({
    ...rest,
    // What was not sent while Redis is away must not be sent later behind the back of a caller that was told so.
    disableOfflineQueue: true,
    pingInterval: PING_EVERY_MS,
    maintNotifications: 'disabled',
    socket: {
      ...socket,
      connectTimeout: ATTEMPT_LIMIT_MS,
      socketTimeout: SILENCE_LIMIT_MS,
      reconnectStrategy: reconnect,
    },
  });
  tellName(client);
  return client;
}

/** Shows the gateway in `CLIENT LIST`. A user that may not say its name is served all the same. */
export function tellName(client: {
  on(event: 'ready', listener: () => void): unknown;
  sendCommand(args: string[]): Promise<unknown>;
}): void {
  client.on('ready', () => {
    client.sendCommand(['CLIENT', 'SETNAME', 'research-gateway']).catch(() => {});
  });
}

export type RedisClient = ReturnType<typeof makeClient>;
