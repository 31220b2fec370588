import { once } from 'node:events';
import { connect, type Socket } from 'node:net';
import { liveLoad } from '../support/live-load.ts';
import { quantile, rssMb } from '../support/measure.ts';
import type { BenchOptions } from '../support/options.ts';
import { KEY, startGateway, startScript, type Target } from '../support/processes.ts';
import { interleaved, type Row } from '../support/scoreboard.ts';

/** What streams notice of large files and many WebSockets that pass through the same process. */

const STREAMS = 100;
const DELTAS = 200;
const WIDTH = 4;
const SOCKETS = 1000;
const AT_ONCE = 50;

export async function transfers({ rounds }: BenchOptions): Promise<Row[]> {
  await using stack = new AsyncDisposableStack();
  const provider = stack.use(await startScript('targets/ticking-provider.ts', ['20', String(DELTAS)]));
  const files = stack.use(await startScript('targets/file-provider.ts'));
  const gateway = stack.use(
    await startGateway({
      ...configOf(provider, files),
      keys: [{ id: 'bench', secret: KEY, passthrough: 'all' }],
    }),
  );
  const grown: number[] = [];
  const bare = stack.use(await startScript('targets/bare-proxy.ts', [provider.url, files.url]));
  /** Delays of streams through a proxy, beside transfers through it. */
  const beside = async (proxy: Target): Promise<number[]> => {
    const before = rssMb(proxy.pid);
    await using _ = await startScript('targets/transfers.ts', [`${proxy.url}/v1`, KEY, String(WIDTH)]);
    const { delays } = await liveLoad(proxy, { path: '/v1/chat/completions', streams: STREAMS, deltas: DELTAS });
    if (proxy === gateway) grown.push(rssMb(proxy.pid) - before);
    return delays;
  };
  await liveLoad(gateway, { path: '/v1/chat/completions', streams: STREAMS, deltas: DELTAS });
  const results = await interleaved(
    [
      { name: 'ours', run: () => beside(gateway) },
      { name: 'bare', run: () => beside(bare) },
    ],
    rounds,
  );
  const p99 = (name: 'ours' | 'bare') => (results.get(name) ?? []).map((delays) => quantile(delays, 0.99));
  const what = `${STREAMS} streams beside ${2 * WIDTH} files of 100 MB`;
  const sockets: number[] = [];
  for (let round = 0; round < rounds; round += 1) sockets.push(await socketGrowth(gateway));
  return [
    {
      what,
      unit: 'p99 ms',
      ours: p99('ours'),
      peer: { name: 'Express + http-proxy-middleware', rounds: p99('bare') },
      goal: { atMost: 1 },
    },
    { what, unit: 'MB more memory', ours: grown, goal: { atMost: 100 } },
    { what: `${SOCKETS} WebSockets echo`, unit: 'MB more memory', ours: sockets, goal: { atMost: 60 } },
  ];
}

function configOf(provider: Target, files: Target): object {
  return {
    providers: { bench: { base_url: provider.url }, files: { base_url: files.url, api_key: 'sk-files' } },
    models: { bench: { kind: 'proxy', routes: [{ provider: 'bench', model: 'bench' }] } },
    passthrough: [
      { path: '/v1/files', provider: 'files' },
      { path: '/v1/realtime', provider: 'files', websocket: true },
    ],
  };
}

/** MB by which the gateway grows while a thousand sockets are open and each is answered. */
async function socketGrowth(gateway: Target): Promise<number> {
  const before = rssMb(gateway.pid);
  const { hostname, port } = new URL(gateway.url);
  const sockets: Socket[] = [];
  for (let from = 0; from < SOCKETS; from += AT_ONCE) sockets.push(...(await openSockets(from)));
  const grown = rssMb(gateway.pid) - before;
  for (const socket of sockets) socket.destroy();
  return grown;

  /** As many as may begin at a time: a process that lags takes no new work. */
  async function openSockets(from: number): Promise<Socket[]> {
    const opening = Array.from({ length: AT_ONCE }, async (_, at) => {
      const n = from + at;
      const socket = connect({ host: hostname, port: Number(port) });
      socket.on('error', () => {});
      socket.write(
        `GET /v1/realtime HTTP/1.1\r\nhost: x\r\nauthorization: Bearer ${KEY}\r\nconnection: upgrade\r\nupgrade: websocket\r\nsec-websocket-key: dGhlIHNhbXBsZSBub25jZQ==\r\nsec-websocket-version: 13\r\n\r\n`,
      );
      const [head] = await once(socket, 'data');
      if (!String(head).startsWith('HTTP/1.1 101')) throw new Error(String(head));
      const said = `hello ${n}`;
      socket.write(said);
      let heard = '';
      while (heard.length < said.length) heard += String((await once(socket, 'data'))[0]);
      if (heard !== said) throw new Error(`${heard} instead of ${said}`);
      return socket;
    });
    return await Promise.all(opening);
  }
}
