import assert from 'node:assert/strict';
import { join } from 'node:path';
import type { RunEvent } from '../../src/protocol/events.ts';
import { type GatewayProcess, gatewayFolder, startGatewayProcess } from '../support/gateway-process.ts';
import { until } from '../support/http-gateway.ts';
import {
  hang,
  mayCallTools,
  type ProviderRequest,
  stallAfter,
  startScriptedProvider,
  turn,
} from '../support/scripted-provider.ts';
import { SseReader } from '../support/sse-reader.ts';
import { patience } from '../support/time-limit.ts';
import { startWebServer } from '../support/web-server.ts';

const KEY = 'sk-crash-test';
const HEADERS = { authorization: `Bearer ${KEY}`, 'content-type': 'application/json' };
const ANSWER =
  'Runs survive because their log is written first. Every reader follows it [1]. That is all there is to say.';

/** The answer of a run that read nothing: a marker would belong to no source. */
const UNCITED = ANSWER.replace(' [1]', '');

/** A web server that counts how often each path was read; a path can be held open. */
async function startPages() {
  const reads = new Map<string, number>();
  const held = new Set<string>();
  const web = await startWebServer((request, response) => {
    const path = request.url ?? '/';
    reads.set(path, (reads.get(path) ?? 0) + 1);
    if (held.has(path)) return;
    response.setHeader('content-type', 'text/plain').end(`The page ${path} says that runs survive.`);
  });
  return { ...web, url: web.origin, reads, held };
}

function configOf(options: { folder: string; provider: string }) {
  return {
    server: { port: 0 },
    store: { url: `file:${join(options.folder, 'data')}` },
    providers: { scripted: { base_url: options.provider, api_key: 'sk-provider' } },
    models: {
      researcher: {
        kind: 'research',
        routes: [{ provider: 'scripted', model: 'm' }],
        research: { tools: ['fetch_url_content'] },
      },
    },
    keys: [{ id: 'ann', secret: KEY }],
    tools: { fetch_url_content: { allow_private_addresses: true } },
  };
}

const isAnswer = (request: ProviderRequest) => !mayCallTools(request);
const textOf = (events: RunEvent[]) =>
  events.map((event) => (event.type === 'response.output_text.delta' ? event.delta : '')).join('');
const count = (events: RunEvent[], type: RunEvent['type']) => events.filter((event) => event.type === type).length;

describe('a run in file mode', function () {
  // Gateways are killed and come back several times.
  this.timeout(patience(60));
  it('survives kill -9 while thinking, in a tool call and in the answer, for a reader that resumes', async () => {
    await using pages = await startPages();
    await using provider = await startScriptedProvider();
    await using folder = await gatewayFolder();
    const config = configOf({ folder: folder.path, provider: provider.url });
    let gateway: GatewayProcess = await startGatewayProcess(config, { folder: folder.path });
    await using _ = { [Symbol.asyncDispose]: () => gateway[Symbol.asyncDispose]() };
    const fetchPage = (path: string) => ({ name: 'fetch_url_content', arguments: { url: pages.url + path } });
    const seen: Buffer[] = [];
    const lastSeen = () =>
      JSON.parse(/.*data: (.*)\n\n$/s.exec(Buffer.concat(seen).toString())?.[1] ?? '{}').sequence_number;
    let id = '';
    const resume = () =>
      SseReader.open(`${gateway.url}/v1/responses/${id}?stream=true&after=${lastSeen()}`, { headers: HEADERS });

    const crash = async () => {
      await gateway.kill();
      await reader.end();
      seen.push(reader.bytes);
    };
    // A run goes on before its gateway listens: what the provider says next has to be known by then.
    const restart = async () => {
      gateway = await startGatewayProcess(config, { folder: folder.path });
      reader = await resume();
    };

    // The first turn reads a page; the second is cut while it thinks.
    provider.respond = (_request, n) =>
      n === 0
        ? turn({ reasoning: 'I read the first page.', toolCalls: [fetchPage('/first')] })
        : stallAfter(3, { reasoning: 'a thought that never ends' });
    let reader = await SseReader.open(`${gateway.url}/v1/responses`, {
      method: 'POST',
      headers: HEADERS,
      body: JSON.stringify({ model: 'researcher', input: 'Why do runs survive?', stream: true }),
    });
    const [created] = await reader.until((events) =>
      events.some((e) => e.type === 'response.reasoning_text.delta' && e.output_index === 2),
    );
    assert.equal(created?.type, 'response.created');
    id = created.response.id;
    await crash();

    // Taken up again: the turn is repeated, and its tool call is cut.
    pages.held.add('/second');
    provider.respond = () =>
      turn({ reasoning: 'I read the second page.', toolCalls: [fetchPage('/second'), fetchPage('/third')] });
    await restart();
    await reader.until(
      (events) => count(events, 'response.output_item.done') === 3 && pages.reads.get('/second') === 1,
    );
    await crash();

    // The cut call is run again, the finished one beside it is not; then the answer is cut.
    pages.held.clear();
    const words = ANSWER.split(/(?<= )/);
    provider.respond = (request) =>
      isAnswer(request) ? stallAfter(1 + 6, { text: ANSWER, chunks: words.length }) : turn({ text: 'I know enough.' });
    await restart();
    await reader.until((events) => events.some((event) => event.type === 'response.output_text.delta'));
    await crash();
    const before = Buffer.concat(seen).toString();
    const written = [...before.matchAll(/output_text\.delta".*?"delta":("(?:[^"\\]|\\.)*")/g)]
      .map((m) => JSON.parse(m[1] ?? '""'))
      .join('');
    assert.ok(ANSWER.startsWith(written) && written.length > 0);

    provider.respond = () => turn({ text: ANSWER.slice(written.length) });
    await restart();
    await reader.end();
    seen.push(reader.bytes);

    const whole = Buffer.concat(seen);
    const replay = await SseReader.open(`${gateway.url}/v1/responses/${id}?stream=true`, { headers: HEADERS });
    const events = await replay.end();
    assert.equal(whole.toString(), replay.bytes.toString());
    for (const [index, event] of events.entries()) assert.equal(event.sequence_number, index + 1);

    const last = events.at(-1);
    assert.equal(last?.type, 'response.completed');
    assert.equal(last.response.output_text, ANSWER);
    const reasoning = last.response.output.filter((item) => item.type === 'reasoning').map((item) => item.status);
    assert.deepEqual(reasoning, ['completed', 'incomplete', 'completed', 'completed']);
    const calls = last.response.output.filter((item) => item.type === 'tool_call');
    assert.deepEqual(
      calls.map((call) => call.status),
      ['completed', 'completed', 'completed'],
    );
    assert.equal(count(events, 'response.output_item.added'), last.response.output.length);
    assert.deepEqual(Object.fromEntries(pages.reads), { '/first': 1, '/second': 2, '/third': 1 });
    assert.equal(last.response.usage.num_tool_calls, 3);
  });

  it('is whole where the crash came between the last word of its answer and its end', async () => {
    await using provider = await startScriptedProvider();
    await using folder = await gatewayFolder();
    const config = configOf({ folder: folder.path, provider: provider.url });
    const words = UNCITED.split(/(?<= )/).length;
    provider.respond = (request) =>
      isAnswer(request) ? stallAfter(1 + words, { text: UNCITED, chunks: words }) : turn({ text: 'I know enough.' });
    let id = '';
    {
      await using gateway = await startGatewayProcess(config, { folder: folder.path });
      const body = JSON.stringify({ model: 'researcher', input: 'Will it end?', stream: true });
      const reader = await SseReader.open(`${gateway.url}/v1/responses`, { method: 'POST', headers: HEADERS, body });
      const events = await reader.until((seen) => textOf(seen) === UNCITED);
      if (events[0]?.type === 'response.created') id = events[0].response.id;
    }
    provider.respond = () => turn({ text: '' });
    await using gateway = await startGatewayProcess(config, { folder: folder.path });
    const reader = await SseReader.open(`${gateway.url}/v1/responses/${id}?stream=true`, { headers: HEADERS });
    const last = (await reader.end()).at(-1);
    assert.equal(last?.type, 'response.completed');
    assert.equal(last.response.output_text, UNCITED);
  });

  it('writes a report in parts, each stopped by the provider, through kill -9 in every part', async () => {
    const report = Array.from({ length: 120 }, (_, n) => `Line ${n} of the report tells of ${n * 7} things.`).join(' ');
    const length = Math.ceil(report.length / 4);
    await using provider = await startScriptedProvider();
    await using folder = await gatewayFolder();
    const config = configOf({ folder: folder.path, provider: provider.url });
    let stalls = true;
    provider.respond = (request) => {
      if (!isAnswer(request)) return turn({ text: 'I know enough.' });
      const said = (request.body.messages ?? []).filter(({ role }) => role === 'assistant').at(-1)?.content;
      const from = typeof said === 'string' && report.startsWith(said) ? said.length : 0;
      const text = report.slice(from, from + length);
      const finish = from + length >= report.length ? 'stop' : 'length';
      return stalls ? stallAfter(5, { text, chunks: 8, finish }) : turn({ text, chunks: 8, finish });
    };
    let id = '';
    let written = 0;
    for (let part = 0; part < 4; part++) {
      await using gateway = await startGatewayProcess(config, { folder: folder.path });
      const body = JSON.stringify({ model: 'researcher', input: 'Will it end?', stream: true });
      const reader =
        part === 0
          ? await SseReader.open(`${gateway.url}/v1/responses`, { method: 'POST', headers: HEADERS, body })
          : await SseReader.open(`${gateway.url}/v1/responses/${id}?stream=true`, { headers: HEADERS });
      const events = await reader.until((seen) => textOf(seen).length > written + length / 4);
      written = textOf(events).length;
      if (events[0]?.type === 'response.created') id = events[0].response.id;
      await gateway.kill();
    }
    stalls = false;
    await using gateway = await startGatewayProcess(config, { folder: folder.path });
    const reader = await SseReader.open(`${gateway.url}/v1/responses/${id}?stream=true`, { headers: HEADERS });
    const last = (await reader.end()).at(-1);
    assert.equal(last?.type, 'response.completed');
    assert.equal(last.response.output_text, report);
    assert.equal(last.response.incomplete_details, null);
  });

  it('fails after five claims, each cut in a thought or before any, and keeps an accepted cancel', async () => {
    const isAsked = (question: string) => (request: ProviderRequest) =>
      JSON.stringify(request.body.messages).includes(question);
    const thinks = isAsked('Will it think?');
    await using provider = await startScriptedProvider({
      respond: (request) => (thinks(request) ? stallAfter(3, { reasoning: 'a thought that never ends' }) : hang()),
    });
    await using folder = await gatewayFolder();
    const config = configOf({ folder: folder.path, provider: provider.url });
    const requests = (question: string) => provider.requests.filter(isAsked(question)).length;
    const thoughts = (events: RunEvent[]) => count(events, 'response.reasoning_text.delta');
    let ids: string[] = [];
    let seen = 0;
    for (let crash = 0; crash < 5; crash++) {
      await using gateway = await startGatewayProcess(config, { folder: folder.path });
      const call = async (path: string, body?: object) => {
        const init = { method: 'POST', headers: HEADERS, body: body ? JSON.stringify(body) : null };
        return (await (await fetch(`${gateway.url}/v1/responses${path}`, init)).json()) as {
          id: string;
          status: string;
        };
      };
      if (crash === 0) {
        const submit = async (input: string) => (await call('', { model: 'researcher', input, background: true })).id;
        ids = await Promise.all(['Will it think?', 'Will it hang?', 'Will it be cancelled?'].map(submit));
        await until(() => requests('Will it be cancelled?') === 1 || undefined);
        assert.equal((await call(`/${ids[2]}/cancel`)).status, 'cancelled');
      }
      const reader = await SseReader.open(`${gateway.url}/v1/responses/${ids[0]}?stream=true`, { headers: HEADERS });
      seen = thoughts(await reader.until((events) => thoughts(events) > seen));
      await until(() => requests('Will it hang?') === crash + 1 || undefined);
    }
    await using gateway = await startGatewayProcess(config, { folder: folder.path });
    const ends = await Promise.all(
      ids.map(async (id) => {
        const reader = await SseReader.open(`${gateway.url}/v1/responses/${id}?stream=true`, { headers: HEADERS });
        const last = (await reader.end()).at(-1);
        assert.ok(last?.type === 'response.failed');
        return last.response;
      }),
    );
    assert.deepEqual(
      ends.map(({ status, error }) => [status, error?.code]),
      [
        ['failed', 'run_crashed'],
        ['failed', 'run_crashed'],
        ['cancelled', 'cancelled'],
      ],
    );
    assert.ok((ends[0]?.usage.output_tokens ?? 0) > 0, 'what was cut is counted');
    assert.deepEqual(
      [requests('Will it think?'), requests('Will it hang?'), requests('Will it be cancelled?')],
      [5, 5, 1],
    );
  });
});
