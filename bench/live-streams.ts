import { Agent, request } from 'undici';
import { cpuMicros, figure, median, quantile, rssMb, table } from './support/measure.ts';
import { KEY, researchConfig, type StoreKind, startGateway, startScript, type Target } from './support/processes.ts';

/** Many research runs at a time whose providers speak at a steady rate, each with a reader that follows live. */

const RATE = 20;
const SECONDS = 15;
const HEADERS = { authorization: `Bearer ${KEY}`, 'content-type': 'application/json' };

export async function liveStreams(options: { stores: readonly StoreKind[]; streams?: number }): Promise<string> {
  const { stores, streams = 500 } = options;
  const deltas = RATE * SECONDS;
  await using provider = await startScript('targets/ticking-provider.ts', [String(RATE), String(deltas)]);
  const rows: string[][] = [];
  const direct = await follow(provider, { path: '/chat/completions', streams, deltas });
  rows.push(['the provider itself', ...latencies(direct), '-', '-', '-']);
  {
    await using bare = await startScript('targets/bare-translator.ts', [provider.url]);
    rows.push(await measured('bare translator, nothing stored', bare, { path: '', streams, deltas }));
  }
  for (const kind of stores) {
    await using gateway = await startGateway(researchConfig(provider), kind);
    rows.push(await measured(`research-gateway, ${kind}`, gateway, { path: '/v1/responses', streams, deltas }));
  }
  const head = ['target', 'p50 ms', 'p99 ms', 'CPU us/delta', 'Redis CPU us/delta', 'RSS KB/stream'];
  const title = `### ${streams.toLocaleString('en')} live streams of ${RATE} deltas a second, every delta delivered`;
  return `${title}\n\n${table(head, rows)}`;
}

async function measured(
  name: string,
  target: Target & { redisPid?: number | undefined },
  load: { path: string; streams: number; deltas: number },
): Promise<string[]> {
  const cpu = cpuMicros(target.pid);
  const redisCpu = target.redisPid ? cpuMicros(target.redisPid) : 0;
  const idle = rssMb(target.pid);
  let most = idle;
  const watch = setInterval(() => {
    most = Math.max(most, rssMb(target.pid));
  }, 500);
  const delays = await follow(target, load);
  clearInterval(watch);
  const perDelta = (micros: number) => figure(micros / (load.streams * load.deltas));
  return [
    name,
    ...latencies(delays),
    perDelta(cpuMicros(target.pid) - cpu),
    target.redisPid ? perDelta(cpuMicros(target.redisPid) - redisCpu) : '-',
    figure(((most - idle) * 1024) / load.streams),
  ];
}

function latencies(delays: readonly number[]): string[] {
  return [figure(median(delays)), figure(quantile(delays, 0.99))];
}

/** Opens all streams and reads them to their end; milliseconds from sending to receiving of every delta. */
async function follow(target: Target, options: { path: string; streams: number; deltas: number }): Promise<number[]> {
  const { path, streams, deltas } = options;
  const dispatcher = new Agent({ connections: streams, pipelining: 1, headersTimeout: 0, bodyTimeout: 0 });
  const delays: number[] = [];
  const body = JSON.stringify({
    model: 'bench',
    input: 'Go.',
    messages: [{ role: 'user', content: 'Go.' }],
    stream: true,
    tool_choice: 'none',
  });
  const one = async () => {
    const response = await request(target.url + path, { method: 'POST', headers: HEADERS, body, dispatcher });
    let received = 0;
    let rest = '';
    for await (const chunk of response.body.setEncoding('utf8')) {
      const now = performance.timeOrigin + performance.now();
      rest += chunk;
      const whole = rest.lastIndexOf('\n\n') + 2;
      // Deltas only: the whole text comes once more when the run ends.
      for (const line of rest.slice(0, whole).split('\n')) {
        if (!line.includes('"delta":')) continue;
        for (const [, sent] of line.matchAll(/@(\d+\.\d+) /g)) {
          received++;
          delays.push(now - Number(sent));
        }
      }
      rest = rest.slice(whole);
    }
    if (received !== deltas) throw new Error(`${received} deltas of ${deltas} came`);
  };
  await Promise.all(Array.from({ length: streams }, one));
  await dispatcher.close();
  return delays;
}
