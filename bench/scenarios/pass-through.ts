import { liveLoad } from '../support/live-load.ts';
import { cpuMicros, median, quantile } from '../support/measure.ts';
import type { BenchOptions } from '../support/options.ts';
import { portkeyHeaders, startFastify, startNginx, startPortkey } from '../support/peers.ts';
import { KEY, startGateway, startScript, type Target } from '../support/processes.ts';
import { rawLoad } from '../support/raw-load.ts';
import { interleaved, type Row } from '../support/scoreboard.ts';

/**
 * Chat completions on a proxy model, with authentication, limits, routing, metrics and logs on, beside programs that
 * only pass on.
 */

const EVENTS = 200;
/** Rounds that nobody counts: the floors are for compiled code, which takes some 20 000 requests. */
const WARM_UP = 2;
const BARE = 'Express + http-proxy-middleware';

interface Proxy {
  name: string;
  target: Target;
  headers: Record<string, string>;
}

interface Shape {
  what: string;
  stream: boolean;
  connections: number;
  total: number;
}

const SHAPES: readonly Shape[] = [
  { what: '1 connection', stream: false, connections: 1, total: 3000 },
  { what: '32 connections', stream: false, connections: 32, total: 10_000 },
  { what: '256 connections', stream: false, connections: 256, total: 10_000 },
  { what: `bursts of ${EVENTS} events`, stream: true, connections: 32, total: 1500 },
];

export async function passThrough({ rounds, peers }: BenchOptions): Promise<Row[]> {
  await using stack = new AsyncDisposableStack();
  const provider = stack.use(await startScript('targets/raw-provider.ts', [String(EVENTS)]));
  const proxies = await openProxies(provider, peers, stack);
  const rows: Row[] = [];
  for (const shape of SHAPES) {
    const working = await warmedUp(proxies, shape);
    const results = await interleaved(
      working.map((proxy) => ({ name: proxy.name, run: () => load(proxy, shape) })),
      rounds,
    );
    rows.push(...rowsOf(shape, results));
  }
  return rows;
}

/** The proxies that answer; a peer that does not is told of and left out. */
async function warmedUp(proxies: readonly Proxy[], shape: Shape): Promise<Proxy[]> {
  const working: Proxy[] = [];
  for (const proxy of proxies) {
    try {
      await load(proxy, { ...shape, total: shape.total * WARM_UP });
      working.push(proxy);
    } catch (thrown) {
      if (proxy.name === 'research-gateway') throw thrown;
      console.error(`${proxy.name} fails at ${shape.what}: ${String(thrown).slice(0, 200)}`);
    }
  }
  return working;
}

/** 200 streams of 50 events a second: what a stream costs that does not come in bursts. */
export async function pacedPassThrough({ rounds, peers }: BenchOptions): Promise<Row[]> {
  await using stack = new AsyncDisposableStack();
  const deltas = 250;
  const provider = stack.use(await startScript('targets/ticking-provider.ts', ['50', String(deltas)]));
  const direct = await liveLoad(provider, { path: '/chat/completions', streams: 200, deltas });
  const proxies = await openProxies(provider, { ...(peers.folder && { folder: peers.folder }) }, stack);
  const results = await interleaved(
    proxies
      .filter(({ name }) => name !== 'Portkey')
      .map(({ name, target }) => ({
        name,
        run: () => liveLoad(target, { path: '/v1/chat/completions', streams: 200, deltas }),
      })),
    rounds,
  );
  const ours = results.get('research-gateway') ?? [];
  const bare = results.get(BARE) ?? [];
  const added = (delays: readonly number[]) => Math.max(0.01, quantile(delays, 0.99) - quantile(direct.delays, 0.99));
  const what = 'pass-through, 200 streams of 50 events/s';
  return [
    {
      what,
      unit: 'CPU us/event',
      ours: ours.map(({ cpuPerDelta }) => cpuPerDelta),
      peer: { name: BARE, rounds: bare.map(({ cpuPerDelta }) => cpuPerDelta) },
    },
    {
      what,
      unit: 'added p99 ms',
      ours: ours.map(({ delays }) => added(delays)),
      peer: { name: BARE, rounds: bare.map(({ delays }) => added(delays)) },
    },
  ];
}

async function openProxies(
  provider: Target,
  peers: BenchOptions['peers'],
  stack: AsyncDisposableStack,
): Promise<Proxy[]> {
  const gateway = stack.use(await startGateway(proxyConfig(provider)));
  const bare = stack.use(await startScript('targets/bare-proxy.ts', [provider.url]));
  const proxies: Proxy[] = [
    { name: 'research-gateway', target: gateway, headers: {} },
    { name: BARE, target: bare, headers: {} },
  ];
  if (peers.folder) {
    const fastify = stack.use(await startFastify(peers.folder, provider));
    const portkey = stack.use(await startPortkey(peers.folder));
    proxies.push({ name: '@fastify/http-proxy', target: fastify, headers: {} });
    proxies.push({ name: 'Portkey', target: portkey, headers: portkeyHeaders(provider) });
  }
  if (peers.nginx) {
    proxies.push({
      name: 'nginx',
      target: stack.use(await startNginx(peers.nginx, { provider })),
      headers: {},
    });
  }
  return proxies;
}

export function proxyConfig(provider: Target): { keys: object[]; [section: string]: object } {
  return {
    providers: { bench: { base_url: provider.url, api_key: 'sk-provider-of-the-bench' } },
    models: { bench: { kind: 'proxy', routes: [{ provider: 'bench', model: 'bench' }] } },
    keys: [{ id: 'bench', secret: KEY, limits: { requests_per_minute: 10 ** 9, tokens_per_day: 10 ** 13 } }],
  };
}

interface Loaded {
  rate: number;
  cpu: number;
  p50: number;
}

/** The floors, with 32 connections: of requests a second, and of events a second in bursts. */
const FLOORS: Readonly<Record<string, number>> = { [BARE]: 0.9, Portkey: 4 };
const BURST_FLOORS: Readonly<Record<string, number>> = { [BARE]: 1.2 };

function rowsOf(shape: Shape, results: ReadonlyMap<string, readonly Loaded[]>): Row[] {
  const ours = results.get('research-gateway') ?? [];
  const unit = shape.stream ? 'events' : 'requests';
  const what = `pass-through, ${shape.what}`;
  return [...results].flatMap(([name, theirs]): Row[] => {
    if (name === 'research-gateway') return [];
    const floor = shape.connections === 32 ? (shape.stream ? BURST_FLOORS : FLOORS)[name] : undefined;
    const of = (pick: (round: Loaded) => number) => ({
      ours: ours.map(pick),
      peer: { name, rounds: theirs.map(pick) },
    });
    return [
      { what, unit: `${unit}/s`, ...of(({ rate }) => rate), ...(floor ? { goal: { atLeast: floor } } : {}) },
      { what, unit: `CPU us/${unit.slice(0, -1)}`, ...of(({ cpu }) => cpu) },
    ];
  });
}

export async function load(
  { target, headers }: Omit<Proxy, 'name'>,
  { stream, connections, total }: Shape,
): Promise<Loaded> {
  const cpu = cpuMicros(target.pid);
  const { seconds, wholeMs } = await rawLoad({
    url: target.url,
    path: '/v1/chat/completions',
    headers: { authorization: `Bearer ${KEY}`, 'content-type': 'application/json', accept: '*/*', ...headers },
    body: JSON.stringify({
      model: 'bench',
      messages: [
        { role: 'system', content: 'You are a helpful assistant.' },
        { role: 'user', content: 'Say something of eighty words. '.repeat(8) },
      ],
      temperature: 0.5,
      stream,
    }),
    connections,
    total,
    frames: stream ? EVENTS : 0,
    mark: stream ? 'data: [DONE]' : '"total_tokens":100',
  });
  const units = stream ? total * EVENTS : total;
  return { rate: units / seconds, cpu: (cpuMicros(target.pid) - cpu) / units, p50: median(wholeMs) };
}
