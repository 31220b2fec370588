import { once } from 'node:events';
import { request } from 'undici';
import { WebSocket } from 'ws';
import { cpuMicros } from '../support/measure.ts';
import type { BenchOptions } from '../support/options.ts';
import { KEY, plainConfig, startGateway, startScript, type Target } from '../support/processes.ts';
import { interleaved, type Row } from '../support/scoreboard.ts';
import { agent } from '../support/stream-client.ts';

const TURNS = 20;
const LOOPS = 20;
const TOOLS = [{ type: 'function', name: 'look_up', parameters: { type: 'object', properties: {} } }];
/** What each call is answered with, in UTF-16 code units. */
const OUTPUT = 'Looked up. '.repeat(100);

interface Figures {
  /** Milliseconds of a loop. */
  ms: number;
  /** CPU of the gateway for it, in microseconds. */
  cpu: number;
}

/** One response: sends the body and gives the events as JSON texts, of which the last one ends it. */
type Ask = (body: object) => Promise<string[]>;

/** Twenty function calls in turn, each answered at once: over one WebSocket beside HTTP over one connection. */
export async function functionLoop({ stores, rounds }: BenchOptions): Promise<Row[]> {
  await using provider = await startScript('targets/calling-provider.ts', [String(TURNS)]);
  const rows: Row[] = [];
  for (const kind of stores) {
    await using gateway = await startGateway(plainConfig(provider), kind);
    const measure = (open: typeof overSocket, isStored: boolean) => ({
      name: `${open.name} ${isStored}`,
      run: () => loops(gateway, { open, isStored }),
    });
    await loops(gateway, { open: overSocket, isStored: true });
    await loops(gateway, { open: overHttp, isStored: true });
    const results = await interleaved(
      [true, false].flatMap((isStored) => [measure(overHttp, isStored), measure(overSocket, isStored)]),
      rounds,
    );
    for (const isStored of [true, false]) {
      const what = `${TURNS} function calls over a WebSocket, ${isStored ? 'stored' : 'store: false'}, ${kind}`;
      const of = (figure: keyof Figures) => ({
        ours: (results.get(`${overSocket.name} ${isStored}`) ?? []).map((round) => round[figure]),
        peer: {
          name: 'HTTP',
          rounds: (results.get(`${overHttp.name} ${isStored}`) ?? []).map((round) => round[figure]),
        },
      });
      rows.push({ what, unit: 'ms', ...of('ms'), goal: { atMost: 0.8 } }, { what, unit: 'CPU us', ...of('cpu') });
    }
  }
  return rows;
}

async function loops(
  target: Target,
  { open, isStored }: { open: (target: Target) => Promise<{ ask: Ask; close(): void }>; isStored: boolean },
): Promise<Figures> {
  const { ask, close } = await open(target);
  // Over HTTP a response that is not stored is continued by sending everything again.
  const resends = !isStored && open === overHttp;
  const cpu = cpuMicros(target.pid);
  const began = performance.now();
  for (let n = 0; n < LOOPS; n++) await oneLoop(ask, { isStored, resends });
  const ms = (performance.now() - began) / LOOPS;
  const used = (cpuMicros(target.pid) - cpu) / LOOPS;
  close();
  return { ms, cpu: used };
}

async function oneLoop(ask: Ask, { isStored, resends }: { isStored: boolean; resends: boolean }): Promise<void> {
  const common = { model: 'bench', tools: TOOLS, ...(!isStored && { store: false }) };
  let input: object[] = [{ role: 'user', content: 'Look it up.' }];
  let previous: string | undefined;
  for (let calls = 0; ; calls++) {
    const events = await ask({ ...common, input, ...(!resends && previous && { previous_response_id: previous }) });
    const { type, response } = JSON.parse(events.at(-1) ?? '{}');
    if (type !== 'response.completed') throw new Error(`${type}: ${events.at(-1)?.slice(0, 300)}`);
    const [call] = response.output;
    if (call.type !== 'function_call') {
      if (calls !== TURNS) throw new Error(`${calls} calls`);
      return;
    }
    const output = { type: 'function_call_output', call_id: call.call_id, output: OUTPUT };
    input = resends ? [...input, call, output] : [output];
    previous = response.id;
  }
}

async function overHttp({ url }: Target) {
  const ask: Ask = async (body) => {
    const answer = await request(`${url}/v1/responses`, {
      method: 'POST',
      headers: { authorization: `Bearer ${KEY}`, 'content-type': 'application/json' },
      body: JSON.stringify({ ...body, stream: true }),
      dispatcher: agent,
    });
    const text = await answer.body.text();
    return text.split('\n').flatMap((line) => (line.startsWith('data: ') ? [line.slice('data: '.length)] : []));
  };
  return { ask, close: () => {} };
}

async function overSocket({ url }: Target) {
  const socket = new WebSocket(`${url.replace('http', 'ws')}/v1/responses`, {
    headers: { authorization: `Bearer ${KEY}` },
    perMessageDeflate: false,
  });
  await once(socket, 'open');
  let events: string[] = [];
  let ended = (_events: string[]) => {};
  socket.on('message', (data) => {
    const text = String(data);
    events.push(text);
    if (/^\{"type":"(?:response\.(?:completed|failed|incomplete)|error)"/.test(text)) ended(events);
  });
  const ask: Ask = (body) =>
    new Promise((resolve) => {
      events = [];
      ended = resolve;
      socket.send(JSON.stringify({ type: 'response.create', ...body }));
    });
  return { ask, close: () => socket.terminate() };
}
