import { request } from 'undici';
import { cpuMicros, median } from '../support/measure.ts';
import type { BenchOptions } from '../support/options.ts';
import { startResponses } from '../support/peers.ts';
import { KEY, researchConfig, startGateway, startScript, type Target } from '../support/processes.ts';
import { interleaved, type Row } from '../support/scoreboard.ts';
import { agent } from '../support/stream-client.ts';

const RUNS = 300;
const BARE = 'bare translator, nothing stored';
const RESPONSES = 'responses.js, nothing stored';

/**
 * responses.js beside the bare translator, in the measurements that the goals come from: they stand for it where it is not
 * at hand.
 */
export const RESPONSES_BY_BARE = { cpu: 4.2, time: 3 };

export interface Figures {
  /** CPU of a run, in microseconds. */
  cpu: number;
  /** Milliseconds from the request to the first event, and to the first delta. */
  firstEvent: number;
  firstDelta: number;
}

/** A run of 20 deltas: what it costs in all, and how soon its first event and its first delta come. */
export async function shortRun({ stores, rounds, peers }: BenchOptions): Promise<Row[]> {
  await using stack = new AsyncDisposableStack();
  const provider = stack.use(await startScript('targets/burst-provider.ts', ['20']));
  const peer = peers.responses
    ? { name: RESPONSES, path: '/v1/responses', target: stack.use(await startResponses(peers.responses, provider)) }
    : { name: BARE, path: '', target: stack.use(await startScript('targets/bare-translator.ts', [provider.url])) };
  const by = peers.responses ? { cpu: 1, time: 1 } : RESPONSES_BY_BARE;
  const cpu = { SQLite: 1.1 * by.cpu, Redis: 1.6 * by.cpu };
  const rows: Row[] = [];
  for (const kind of stores) {
    await using gateway = await startGateway(researchConfig(provider), kind);
    await shortRuns(gateway, '/v1/responses');
    const results = await interleaved(
      [
        { name: 'peer', run: () => shortRuns(peer.target, peer.path) },
        { name: 'ours', run: () => shortRuns(gateway, '/v1/responses') },
      ],
      rounds,
    );
    const what = `research, a run of 20 deltas, ${kind}`;
    const of = (figure: keyof Figures) => ({
      ours: (results.get('ours') ?? []).map((round) => round[figure]),
      peer: { name: peer.name, rounds: (results.get('peer') ?? []).map((round) => round[figure]) },
    });
    rows.push(
      { what, unit: 'CPU us/run', ...of('cpu'), goal: { atMost: cpu[kind] } },
      { what, unit: 'ms to the first event', ...of('firstEvent'), goal: { atMost: 2 * by.time } },
      { what, unit: 'ms to the first delta', ...of('firstDelta'), goal: { atMost: 1.5 * by.time } },
    );
  }
  return rows;
}

/** Short runs one after the other. `fields`: further ones of the body. */
export async function shortRuns(target: Target, path: string, fields: object = {}): Promise<Figures> {
  const cpu = cpuMicros(target.pid);
  const times: Omit<Figures, 'cpu'>[] = [];
  for (let n = 0; n < RUNS; n++) times.push(await oneRun(target.url + path, fields));
  return {
    cpu: (cpuMicros(target.pid) - cpu) / RUNS,
    firstEvent: median(times.map(({ firstEvent }) => firstEvent)),
    firstDelta: median(times.map(({ firstDelta }) => firstDelta)),
  };
}

async function oneRun(url: string, fields: object): Promise<Omit<Figures, 'cpu'>> {
  const began = performance.now();
  const { statusCode, body } = await request(url, {
    method: 'POST',
    headers: { authorization: `Bearer ${KEY}`, 'content-type': 'application/json' },
    body: JSON.stringify({ model: 'bench', input: 'Go.', stream: true, tool_choice: 'none', ...fields }),
    dispatcher: agent,
  });
  let firstEvent = Number.NaN;
  let firstDelta = Number.NaN;
  let text = '';
  for await (const chunk of body.setEncoding('utf8')) {
    const ms = performance.now() - began;
    text += chunk;
    if (Number.isNaN(firstEvent)) firstEvent = ms;
    if (Number.isNaN(firstDelta) && text.includes('output_text.delta')) firstDelta = ms;
  }
  if (statusCode !== 200 || !text.includes('response.completed')) throw new Error(`${statusCode}: ${text.slice(-500)}`);
  return { firstEvent, firstDelta };
}
