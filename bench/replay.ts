import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { request } from 'undici';
import { cpuMicros, figure, median, table } from './support/measure.ts';
import { KEY, researchConfig, type StoreKind, startGateway, startScript, type Target } from './support/processes.ts';
import { agent, inParallel, readStream } from './support/stream-client.ts';

/** Replay of a finished run to several readers, beside the same bytes from memory by a bare server. */

const EVENTS = 10_000;
const READERS = 8;
const ROUNDS = 5;
const REPLAYS = 40;
const HEADERS = { authorization: `Bearer ${KEY}`, 'content-type': 'application/json' };

export async function replay({ stores }: { stores: readonly StoreKind[] }): Promise<string> {
  await using provider = await startScript('targets/paced-provider.ts', [String(EVENTS)]);
  await using stack = new AsyncDisposableStack();
  const targets: { name: string; url: string; pid?: number; rates: number[]; cpus: number[] }[] = [];
  let bytes = Buffer.alloc(0);
  let events = 0;
  for (const kind of stores) {
    const gateway = stack.use(await startGateway(researchConfig(provider), kind));
    const url = await finishedRun(gateway);
    events = (await readStream(url, { headers: HEADERS })).events;
    bytes = Buffer.from(await (await fetch(url, { headers: HEADERS })).arrayBuffer());
    targets.push({ name: `research-gateway, ${kind}`, url, pid: gateway.pid, rates: [], cpus: [] });
  }
  const bare = stack.use(await serveBytes(bytes));
  targets.unshift({ name: 'bare node:http, the bytes in memory', url: bare.url, rates: [], cpus: [] });

  for (let round = 0; round < ROUNDS; round++) {
    for (const target of targets) {
      const cpu = target.pid ? cpuMicros(target.pid) : 0;
      const seconds = await replaySeconds(target.url, bytes.length);
      target.rates.push((REPLAYS * events) / seconds);
      if (target.pid) target.cpus.push((cpuMicros(target.pid) - cpu) / (REPLAYS * events));
    }
  }
  const base = median(targets[0]?.rates ?? []);
  const rows = targets.map(({ name, rates, cpus }) => {
    const rate = median(rates);
    return [name, figure(rate), figure(median(cpus)), figure(rate / base)];
  });
  const title = `### Replay of ${events.toLocaleString('en')} events to ${READERS} readers`;
  return `${title}\n\n${table(['target', 'events/s', 'CPU us/event', 'ratio'], rows)}`;
}

/** The address at which a run that has ended is replayed. */
async function finishedRun(gateway: Target): Promise<string> {
  const body = JSON.stringify({ model: 'bench', input: 'Go.', background: true, tool_choice: 'none' });
  const created = await request(`${gateway.url}/v1/responses`, {
    method: 'POST',
    headers: HEADERS,
    body,
    dispatcher: agent,
  });
  const { id } = (await created.body.json()) as { id: string };
  const url = `${gateway.url}/v1/responses/${id}?stream=true`;
  await readStream(url, { headers: HEADERS });
  return url;
}

async function replaySeconds(url: string, length: number): Promise<number> {
  const began = performance.now();
  await inParallel(REPLAYS, READERS, async () => {
    const read = await readStream(url, { headers: HEADERS });
    if (read.bytes < length) throw new Error('a replay is short');
  });
  return (performance.now() - began) / 1000;
}

async function serveBytes(bytes: Buffer): Promise<AsyncDisposable & { url: string }> {
  const server = createServer((_req, res) => {
    res.writeHead(200, { 'content-type': 'text/event-stream' }).end(bytes);
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    async [Symbol.asyncDispose]() {
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}
