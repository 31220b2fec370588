import { createClient } from '@redis/client';
import { withTimeout } from '../../base/abort.ts';
import { messageOf } from '../../base/errors.ts';
import type { Locate } from './moving-client.ts';
import { maybeAddressReply } from './replies.ts';
import { type Address, clientOptions, nameOf, type RedisTarget } from './target.ts';

/** For one sentinel. */
const ASK_LIMIT_MS = 1500;

/**
 * Asks the sentinels in turn which server is the master.
 * @throws Error where none of them answers, or none knows the master's name.
 */
export function sentinelLocator(target: RedisTarget): Locate {
  return async () => {
    const failures: string[] = [];
    for (const sentinel of target.nodes) {
      try {
        const master = await withTimeout('asking', ASK_LIMIT_MS, () => askSentinel(target, sentinel));
        if (master) return master;
        failures.push(`${nameOf(sentinel)} does not know a master named ${target.master}`);
      } catch (thrown) {
        failures.push(`${nameOf(sentinel)}: ${messageOf(thrown)}`);
      }
    }
    throw new Error(`store.url: no sentinel tells the master: ${failures.join('; ')}`);
  };
}

async function askSentinel(target: RedisTarget, sentinel: Address): Promise<Address | undefined> {
  const { socket } = clientOptions(target, sentinel);
  const client = createClient({
    ...target.sentinel,
    maintNotifications: 'disabled',
    socket: { ...socket, connectTimeout: ASK_LIMIT_MS, reconnectStrategy: false },
  });
  let failure: unknown;
  client.on('error', (thrown: unknown) => {
    failure = thrown;
  });
  try {
    await client.connect();
    const reply = await client.sendCommand<unknown>(['SENTINEL', 'GET-MASTER-ADDR-BY-NAME', target.master]);
    const [host, port] = maybeAddressReply.parse(reply) ?? [];
    return host === undefined ? undefined : { host, port: Number(port) };
  } catch (thrown) {
    throw failure ?? thrown;
  } finally {
    if (client.isOpen) client.destroy();
  }
}
