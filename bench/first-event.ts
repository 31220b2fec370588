import { figure, median, quantile, table } from './support/measure.ts';
import { KEY, researchConfig, type StoreKind, startGateway, startScript, type Target } from './support/processes.ts';
import { readStream } from './support/stream-client.ts';

/** POST to the first event of the answer at one connection, above the provider's own first byte. */

const ROUNDS = 200;

export async function firstEvent({ stores }: { stores: readonly StoreKind[] }): Promise<string> {
  await using provider = await startScript('targets/burst-provider.ts', ['5']);
  const rows: string[][] = [];
  for (const kind of stores) {
    await using gateway = await startGateway(researchConfig(provider), kind);
    rows.push(...(await measure({ provider, gateway, kind })));
  }
  return `### Time to first event, one connection\n\n${table(['', 'p50 ms', 'p99 ms', 'added p50 ms'], rows)}`;
}

async function measure(parts: { provider: Target; gateway: Target; kind: StoreKind }): Promise<string[][]> {
  const { provider, gateway, kind } = parts;
  const headers = { authorization: `Bearer ${KEY}`, 'content-type': 'application/json' };
  const body = JSON.stringify({ model: 'bench', input: 'Go.', stream: true, tool_choice: 'none' });
  const direct: number[] = [];
  const first: number[] = [];
  const whole: number[] = [];
  for (let n = 0; n < ROUNDS + 20; n++) {
    const own = await readStream(`${provider.url}/chat/completions`, { method: 'POST', headers, body });
    const began = performance.now();
    const ours = await readStream(`${gateway.url}/v1/responses`, { method: 'POST', headers, body });
    const total = performance.now() - began;
    if (n < 20) continue;
    direct.push(own.firstByteMs);
    first.push(ours.firstByteMs);
    whole.push(total);
  }
  return [
    ["the provider's own first byte", figure(median(direct)), figure(quantile(direct, 0.99)), '-'],
    [
      `POST to first event, ${kind}`,
      figure(median(first)),
      figure(quantile(first, 0.99)),
      figure(median(first) - median(direct)),
    ],
    [
      `POST to end of a five-delta run, ${kind}`,
      figure(median(whole)),
      figure(quantile(whole, 0.99)),
      figure(median(whole) - median(direct)),
    ],
  ];
}
