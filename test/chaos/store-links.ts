import { startTcpProxy, type TcpProxy } from '../support/tcp-proxy.ts';

/** The network between one instance and the servers of its store. */
export interface StoreLink {
  /** Nothing goes through from now on: to all servers, or to one of them by chance. */
  cut(what: 'all' | 'one'): void;
  mend(): void;
  /** How long every piece of data takes, in each direction, in milliseconds. */
  slow(latencyMs: number): void;
}

/** Links of an instance to several servers, one for each of them. */
export interface StoreLinks extends StoreLink, AsyncDisposable {
  /** The port by which the instance reaches the server at this one. */
  to(port: number): number;
}

/**
 * Links to servers that tell each other's addresses, as sentinels and the nodes of a cluster do: the ports in their
 * answers become those of the links, so that an instance never finds a server past them.
 */
export async function startStoreLinks(ports: readonly number[]): Promise<StoreLinks> {
  const found: [Buffer, Buffer][] = [];
  const answer = (piece: Buffer) => {
    for (const [theirs, ours] of found) {
      for (let at = piece.indexOf(theirs); at !== -1; at = piece.indexOf(theirs, at + ours.length))
        ours.copy(piece, at);
    }
    return piece;
  };
  const proxies = new Map<number, TcpProxy>();
  for (const port of ports) {
    const proxy = await startTcpProxy(port, { answer });
    if (`${port}`.length !== `${proxy.port}`.length) throw new Error('a port has another length than its link');
    proxies.set(port, proxy);
    for (const form of FORMS) found.push([Buffer.from(form(port)), Buffer.from(form(proxy.port))]);
  }
  const all = [...proxies.values()];
  return {
    to(port) {
      const proxy = proxies.get(port);
      if (!proxy) throw new Error(`there is no link to ${port}`);
      return proxy.port;
    },
    cut(what) {
      const one = all[Math.floor(Math.random() * all.length)];
      for (const proxy of what === 'one' && one ? [one] : all) proxy.cut();
    },
    mend() {
      for (const proxy of all) proxy.mend();
    },
    slow(latencyMs) {
      for (const proxy of all) proxy.latencyMs = latencyMs;
    },
    async [Symbol.asyncDispose]() {
      await Promise.all(all.map((proxy) => proxy[Symbol.asyncDispose]()));
    },
  };
}

/** How an address stands in what a sentinel says, in `CLUSTER SLOTS`, and in `MOVED` and `ASK`. */
const FORMS: readonly ((port: number) => string)[] = [
  (port) => `127.0.0.1\r\n$${`${port}`.length}\r\n${port}\r\n`,
  (port) => `127.0.0.1\r\n:${port}\r\n`,
  (port) => `127.0.0.1:${port}\r\n`,
];
