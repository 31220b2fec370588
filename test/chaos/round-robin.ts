import { once } from 'node:events';
import { createConnection, createServer, type Socket } from 'node:net';

/** A plain TCP load balancer without stickiness: each connection goes to the next target, or to one that answers. */
export interface RoundRobin extends AsyncDisposable {
  readonly url: string;
  /** Ports on loopback, in order. */
  targets: readonly number[];
}

const CONNECT_MS = 1000;

export async function startRoundRobin(): Promise<RoundRobin> {
  const sockets = new Set<Socket>();
  let next = 0;
  const keep = (socket: Socket) => {
    sockets.add(socket);
    socket.on('error', () => {}).once('close', () => sockets.delete(socket));
  };

  const server = createServer(async (client) => {
    keep(client);
    const { targets } = balancer;
    for (let tries = 0; tries < targets.length; tries++) {
      const target = await connect(targets[next++ % targets.length] ?? 0);
      if (!target) continue;
      keep(target);
      client.once('close', () => target.destroy());
      target.once('close', () => client.destroy());
      client.pipe(target).pipe(client);
      return;
    }
    client.destroy();
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const address = server.address();
  if (address === null || typeof address === 'string') throw new Error('no port');
  const balancer: RoundRobin = {
    url: `http://127.0.0.1:${address.port}`,
    targets: [],
    async [Symbol.asyncDispose]() {
      for (const socket of sockets) socket.destroy();
      await new Promise((resolve) => server.close(resolve));
    },
  };
  return balancer;
}

async function connect(port: number): Promise<Socket | undefined> {
  const socket = createConnection({ port, host: '127.0.0.1', allowHalfOpen: false });
  try {
    await once(socket, 'connect', { signal: AbortSignal.timeout(CONNECT_MS) });
    return socket;
  } catch {
    socket.on('error', () => {}).destroy();
    return undefined;
  }
}
