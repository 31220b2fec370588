import { once } from 'node:events';
import { type AddressInfo, connect, createServer, type Socket } from 'node:net';

/** A TCP proxy on loopback whose connections can be cut, as a lost network does. */
export interface CuttableProxy extends AsyncDisposable {
  readonly url: string;
  /** Cuts every connection, and refuses new ones until `restore`. */
  cut(): void;
  restore(): void;
}

export async function startCuttableProxy(target: { url: string }): Promise<CuttableProxy> {
  const { hostname: host, port } = new URL(target.url);
  const sockets = new Set<Socket>();
  let away = false;
  const server = createServer((client) => {
    if (away) return void client.resetAndDestroy();
    const upstream = connect({ host, port: Number(port) });
    for (const socket of [client, upstream]) {
      sockets.add(socket);
      socket.on('error', () => {});
      socket.once('close', () => {
        sockets.delete(socket);
        client.destroy();
        upstream.destroy();
      });
    }
    client.pipe(upstream).pipe(client);
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    cut() {
      away = true;
      for (const socket of sockets) socket.resetAndDestroy();
    },
    restore() {
      away = false;
    },
    async [Symbol.asyncDispose]() {
      for (const socket of sockets) socket.destroy();
      server.close();
      await once(server, 'close');
    },
  };
}
