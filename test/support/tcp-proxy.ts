import { once } from 'node:events';
import { connect, createServer, type Socket } from 'node:net';

/** A proxy to a port on loopback whose connections can be slowed down or cut. */
export interface TcpProxy extends AsyncDisposable {
  readonly port: number;
  /** How long every piece of data takes, in each direction, in milliseconds. */
  latencyMs: number;
  /** Nothing goes through from now on, and nobody is told: what a partition looks like. */
  cut(): void;
  /** Goes on with what was held up. */
  mend(): void;
  /** Where new connections lead from now on; those that there are stay. */
  lead(port: number): void;
}

/** `answer` may change the data of the target, chunk by chunk. */
export async function startTcpProxy(
  target: number,
  { answer = (piece) => piece }: { answer?(piece: Buffer): Buffer } = {},
): Promise<TcpProxy> {
  const sockets = new Set<Socket>();
  const held = new Set<() => void>();
  let port = target;
  let isCut = false;
  const proxy = { latencyMs: 0 };

  /** Passes pieces on in order, each after the latency of its moment; what came last never overtakes. */
  const pass = (from: Socket, to: Socket, change: (piece: Buffer) => Buffer) => {
    const pieces: { due: number; piece: Uint8Array }[] = [];
    let planned = false;
    const plan = (ms: number) => {
      if (!planned) setTimeout(deliver, ms);
      planned = true;
    };
    const deliver = () => {
      planned = false;
      if (isCut) return void held.add(deliver);
      for (let next = pieces[0]; next; next = pieces[0]) {
        const wait = next.due - performance.now();
        if (wait > 0) return plan(wait);
        pieces.shift();
        if (!to.destroyed) to.write(next.piece);
      }
      if (from.closed) to.destroy();
    };
    from.on('data', (piece) => {
      pieces.push({ due: performance.now() + proxy.latencyMs, piece: change(Buffer.from(piece)) });
      plan(proxy.latencyMs);
    });
    from.on('error', () => {}).on('close', () => plan(proxy.latencyMs));
  };

  const server = createServer({ noDelay: true }, (client) => {
    const upstream = connect({ port, host: '127.0.0.1', noDelay: true });
    for (const socket of [client, upstream]) {
      sockets.add(socket);
      socket.once('close', () => sockets.delete(socket));
    }
    pass(client, upstream, (piece) => piece);
    pass(upstream, client, answer);
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const address = server.address();
  if (address === null || typeof address === 'string') throw new Error('no port');
  return Object.assign(proxy, {
    port: address.port,
    cut() {
      isCut = true;
    },
    mend() {
      isCut = false;
      for (const deliver of held) deliver();
      held.clear();
    },
    lead(next: number) {
      port = next;
    },
    async [Symbol.asyncDispose]() {
      for (const socket of sockets) socket.destroy();
      server.close();
    },
  });
}
