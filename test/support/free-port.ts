import { once } from 'node:events';
import { createServer } from 'node:net';

/**
 * Below the ports that systems hand out to servers on port 0 and to connections, so that none of those which other tests
 * open takes the port before it is used, or while its server is down.
 */
const FIRST = 20_000;
const LAST = 31_999;

/** A port on loopback on which nothing listens, and on which only what is told to will. */
export async function freePort(): Promise<number> {
  for (;;) {
    const port = FIRST + Math.floor(Math.random() * (LAST - FIRST + 1));
    const server = createServer().listen(port, '127.0.0.1');
    const isFree = await once(server, 'listening').then(
      () => true,
      () => false,
    );
    if (!isFree) continue;
    server.close();
    await once(server, 'close');
    return port;
  }
}
