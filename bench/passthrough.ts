import { cpuMicros, figure, median, table } from './support/measure.ts';
import { KEY, startGateway, startScript, type Target } from './support/processes.ts';
import { type RawResult, rawLoad } from './support/raw-load.ts';

/**
 * Chat completions on a proxy model, with authentication, limits, routing, metrics and logs on, beside the bare stack
 * (Express and http-proxy-middleware with a keep-alive agent) in the same run.
 */

const EVENTS = 200;
const ROUNDS = Number(process.env.BENCH_ROUNDS ?? 5);

interface Shape {
  name: string;
  stream: boolean;
  connections: number;
  total: number;
}

const SHAPES: readonly Shape[] = [
  { name: 'non-streaming, 32 connections', stream: false, connections: 32, total: 8000 },
  { name: 'non-streaming, 1 connection', stream: false, connections: 1, total: 1500 },
  { name: `streaming, bursts of ${EVENTS} events, 32 connections`, stream: true, connections: 32, total: 1500 },
  { name: `streaming, bursts of ${EVENTS} events, 1 connection`, stream: true, connections: 1, total: 400 },
];

export async function passthrough(): Promise<string> {
  await using provider = await startScript('targets/raw-provider.ts', [String(EVENTS)]);
  await using bare = await startScript('targets/bare-proxy.ts', [provider.url]);
  await using gateway = await startGateway({
    providers: { bench: { base_url: provider.url, api_key: 'sk-provider-of-the-bench' } },
    models: { bench: { kind: 'proxy', routes: [{ provider: 'bench', model: 'bench' }] } },
    keys: [{ id: 'bench', secret: KEY, limits: { requests_per_minute: 10 ** 9, tokens_per_day: 10 ** 13 } }],
  });
  const direct = { ...provider, url: provider.url.replace(/\/v1$/, '') };
  const targets = [
    { name: 'provider, directly', target: direct },
    { name: 'express + http-proxy-middleware, bare', target: bare },
    { name: 'research-gateway', target: gateway },
  ];
  for (const { target } of targets)
    for (const shape of SHAPES) await load(target, { ...shape, total: shape.total / 4 });
  const tables: string[] = [];
  for (const shape of SHAPES) tables.push(await measured(shape, targets));
  return tables.join('\n\n');
}

interface Measured {
  rate: number[];
  cpu: number[];
  firstByte: number[];
  whole: number[];
}

async function measured(shape: Shape, targets: readonly { name: string; target: Target }[]): Promise<string> {
  const all = new Map<string, Measured>();
  for (let round = 0; round < ROUNDS; round++) {
    for (const { name, target } of targets) {
      const cpu = cpuMicros(target.pid);
      const { seconds, firstByteMs, wholeMs } = await load(target, shape);
      const units = shape.stream ? shape.total * EVENTS : shape.total;
      const got = all.get(name) ?? { rate: [], cpu: [], firstByte: [], whole: [] };
      all.set(name, got);
      got.rate.push(units / seconds);
      got.cpu.push((cpuMicros(target.pid) - cpu) / units);
      got.firstByte.push(median(firstByteMs));
      got.whole.push(median(wholeMs));
    }
  }
  const unit = shape.stream ? 'event' : 'request';
  const [, base] = [...all.values()];
  const rows = [...all].map(([name, { rate, cpu, firstByte, whole }]) => [
    name,
    figure(median(rate)),
    figure(median(rate) / median(base?.rate ?? [])),
    figure(median(cpu)),
    figure(median(firstByte)),
    figure(median(whole)),
  ]);
  const head = ['target', `${unit}s/s`, 'ratio', `CPU us/${unit}`, 'first byte ms (p50)', 'whole ms (p50)'];
  return `### Pass-through: ${shape.name}\n\n${table(head, rows)}`;
}

function load(target: Target, { stream, connections, total }: Shape): Promise<RawResult> {
  return rawLoad({
    url: target.url,
    path: '/v1/chat/completions',
    headers: { authorization: `Bearer ${KEY}`, 'content-type': 'application/json', accept: '*/*' },
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
}
