import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { request } from 'undici';
import { cpuMicros, figure, median, table } from './support/measure.ts';
import { KEY, startGateway, startScript } from './support/processes.ts';
import { agent, inParallel, readStream } from './support/stream-client.ts';

/** Replay of a finished run to several readers, beside the same bytes from memory by a bare server. */

const EVENTS = 10_000;
const READERS = 8;
const ROUNDS = 5;
const REPLAYS = 40;

export async function replay(): Promise<string> {
  await using provider = await startScript('targets/paced-provider.ts', [String(EVENTS)]);
  await using gateway = await startGateway({
    providers: { bench: { base_url: provider.url } },
    models: { bench: { kind: 'research', routes: [{ provider: 'bench', model: 'bench' }], research: { tools: [] } } },
  });
  const headers = { authorization: `Bearer ${KEY}`, 'content-type': 'application/json' };
  const body = JSON.stringify({ model: 'bench', input: 'Go.', background: true, tool_choice: 'none' });
  const created = await request(`${gateway.url}/v1/responses`, { method: 'POST', headers, body, dispatcher: agent });
  const { id } = (await created.body.json()) as { id: string };
  const url = `${gateway.url}/v1/responses/${id}?stream=true`;
  const first = await readStream(url, { headers });
  const bytes = Buffer.from(await (await fetch(url, { headers })).arrayBuffer());
  await using bare = await serveBytes(bytes);

  const rates = { bare: [] as number[], gateway: [] as number[] };
  const cpus: number[] = [];
  for (let round = 0; round < ROUNDS; round++) {
    rates.bare.push(await measure(bare.url, first.events));
    const cpu = cpuMicros(gateway.pid);
    rates.gateway.push(await measure(url, first.events));
    cpus.push((cpuMicros(gateway.pid) - cpu) / (REPLAYS * first.events));
  }
  const base = median(rates.bare);
  const rate = median(rates.gateway);
  const rows = [
    ['bare node:http, the bytes in memory', figure(base), '-', '1.00'],
    ['research-gateway, SQLite', figure(rate), figure(median(cpus)), figure(rate / base)],
  ];
  const title = `### Replay of ${first.events.toLocaleString('en')} events to ${READERS} readers`;
  return `${title}\n\n${table(['target', 'events/s', 'CPU us/event', 'ratio'], rows)}`;

  async function measure(target: string, events: number): Promise<number> {
    const began = performance.now();
    await inParallel(REPLAYS, READERS, async () => {
      const read = await readStream(target, { headers });
      if (read.bytes < bytes.length) throw new Error('a replay is short');
    });
    return (REPLAYS * events) / ((performance.now() - began) / 1000);
  }
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
