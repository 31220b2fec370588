import { cpuMicros, figure, median, table } from './support/measure.ts';
import { KEY, researchConfig, type StoreKind, startGateway, startScript, type Target } from './support/processes.ts';
import { inParallel, readStream } from './support/stream-client.ts';

/** Research deltas per second, stored before delivery, beside a translator that stores nothing. */

const DELTAS = 2000;
const PARALLEL = 8;
const RUNS = 60;
const ROUNDS = 5;

export async function researchDeltas({ stores }: { stores: readonly StoreKind[] }): Promise<string> {
  await using provider = await startScript('targets/burst-provider.ts', [String(DELTAS)]);
  await using bare = await startScript('targets/bare-translator.ts', [provider.url]);
  await using stack = new AsyncDisposableStack();
  const targets: { name: string; target: Target; path: string; redisPid?: number | undefined }[] = [
    { name: 'bare translator, nothing stored', target: bare, path: '' },
  ];
  for (const kind of stores) {
    const target = stack.use(await startGateway(researchConfig(provider), kind));
    targets.push({ name: `research-gateway, ${kind}`, target, path: '/v1/responses', redisPid: target.redisPid });
  }
  const rates = new Map<string, number[]>();
  const cpus = new Map<string, number[]>();
  const redisCpus = new Map<string, number[]>();
  for (const { target, path } of targets) await load(target, path, 10);
  for (let round = 0; round < ROUNDS; round++) {
    for (const { name, target, path, redisPid } of targets) {
      const cpu = cpuMicros(target.pid);
      const redisCpu = redisPid ? cpuMicros(redisPid) : 0;
      const began = performance.now();
      await load(target, path, RUNS);
      const seconds = (performance.now() - began) / 1000;
      push(rates, name, (RUNS * DELTAS) / seconds);
      push(cpus, name, (cpuMicros(target.pid) - cpu) / (RUNS * DELTAS));
      if (redisPid) push(redisCpus, name, (cpuMicros(redisPid) - redisCpu) / (RUNS * DELTAS));
    }
  }
  const base = median(rates.get(targets[0]?.name ?? '') ?? []);
  const rows = targets.map(({ name }) => {
    const rate = median(rates.get(name) ?? []);
    const cpu = figure(median(cpus.get(name) ?? []));
    return [name, figure(rate), cpu, figure(median(redisCpus.get(name) ?? [])), figure(rate / base)];
  });
  const head = ['target', 'deltas/s', 'CPU us/delta', 'Redis CPU us/delta', 'ratio'];
  return `### Research deltas: bursts of ${DELTAS}, ${PARALLEL} runs at a time\n\n${table(head, rows)}`;
}

async function load(target: Target, path: string, runs: number): Promise<void> {
  const body = JSON.stringify({ model: 'bench', input: 'Go.', stream: true, tool_choice: 'none' });
  const headers = { authorization: `Bearer ${KEY}`, 'content-type': 'application/json' };
  await inParallel(runs, PARALLEL, async () => {
    const { tail, bytes } = await readStream(target.url + path, { method: 'POST', headers, body });
    if (!tail.includes('response.completed') && bytes < 1000) throw new Error(`the stream did not complete: ${tail}`);
  });
}

function push(map: Map<string, number[]>, name: string, value: number): void {
  map.set(name, [...(map.get(name) ?? []), value]);
}
