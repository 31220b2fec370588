import assert from 'node:assert/strict';
import { join } from 'node:path';
import type { RunEvent } from '../../src/protocol/events.ts';
import { acrossRestarts, type Life, type Story } from '../support/across-restarts.ts';
import { type GatewayProcess, gatewayFolder, startGatewayProcess } from '../support/gateway-process.ts';
import { until } from '../support/http-gateway.ts';
import {
  hang,
  mayCallTools,
  type ProviderRequest,
  type Script,
  type ScriptedProvider,
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

/** The answer of a run that read nothing, so that `[1]` would name no source. */
const UNCITED = ANSWER.replace(' [1]', '');

/** A web server that counts how often each path was read; it never answers the paths in `held`. */
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

type Pages = Awaited<ReturnType<typeof startPages>>;

interface Scene {
  pages: Pages;
  provider: ScriptedProvider;
  /** What the provider answers, by model: each run has a model of its own. */
  answers: Map<string, (request: ProviderRequest) => Script>;
}

function configOf({ folder, provider, models }: { folder: string; provider: string; models: readonly string[] }) {
  const researcher = (model: string) => ({
    kind: 'research',
    routes: [{ provider: 'scripted', model }],
    research: { tools: ['fetch_url_content'] },
  });
  return {
    server: { port: 0 },
    store: { url: `file:${join(folder, 'data')}` },
    providers: { scripted: { base_url: provider, api_key: 'sk-provider' } },
    models: Object.fromEntries(models.map((model) => [model, researcher(model)])),
    keys: [{ id: 'ann', secret: KEY }],
    tools: { fetch_url_content: { allow_private_addresses: true } },
  };
}

const isAnswer = (request: ProviderRequest) => !mayCallTools(request);
const textOf = (events: RunEvent[]) =>
  events.map((event) => (event.type === 'response.output_text.delta' ? event.delta : '')).join('');
const count = (events: RunEvent[], type: RunEvent['type']) => events.filter((event) => event.type === type).length;

const ask = ({ url }: GatewayProcess, body: { model: string; input: string }) =>
  SseReader.begin(`${url}/v1/responses`, {
    method: 'POST',
    headers: HEADERS,
    body: JSON.stringify({ ...body, stream: true }),
  });
const read = ({ url }: GatewayProcess, id: string, after = 0) =>
  SseReader.open(`${url}/v1/responses/${id}?stream=true${after > 0 ? `&after=${after}` : ''}`, { headers: HEADERS });
const idIn = ([created]: RunEvent[]) => {
  assert.equal(created?.type, 'response.created');
  return created.response.id;
};

function resumed({ pages, answers }: Scene): Story {
  const model = 'resumed';
  const fetchPage = (path: string) => ({ name: 'fetch_url_content', arguments: { url: pages.url + path } });
  const words = ANSWER.split(/(?<= )/);
  const seen: Buffer[] = [];
  let reader: SseReader;
  let id = '';
  let asked = 0;
  let written = '';
  /** Stores what the reader of the last process saw. */
  const keepSeen = async () => {
    await reader.end();
    seen.push(reader.bytes);
  };
  const resume = async (gateway: GatewayProcess) => {
    const last = JSON.parse(/.*data: (.*)\n\n$/s.exec(Buffer.concat(seen).toString())?.[1] ?? '{}').sequence_number;
    reader = await read(gateway, id, last);
  };
  // The first turn reads a page; the second is cut while it thinks.
  answers.set(model, () =>
    asked++ === 0
      ? turn({ reasoning: 'I read the first page.', toolCalls: [fetchPage('/first')] })
      : stallAfter(3, { reasoning: 'a thought that never ends' }),
  );
  return {
    lives: [
      {
        async reach(gateway) {
          reader = await ask(gateway, { model, input: 'Why do runs survive?' });
          const isThinking = (e: RunEvent) => e.type === 'response.reasoning_text.delta' && e.output_index === 2;
          id = idIn(await reader.until((events) => events.some(isThinking)));
        },
        async meanwhile() {
          await keepSeen();
          // After the restart the turn is repeated, and its tool call is cut.
          pages.held.add('/second');
          answers.set(model, () =>
            turn({ reasoning: 'I read the second page.', toolCalls: [fetchPage('/second'), fetchPage('/third')] }),
          );
        },
      },
      {
        async reach(gateway) {
          await resume(gateway);
          await reader.until(
            (events) => count(events, 'response.output_item.done') === 3 && pages.reads.get('/second') === 1,
          );
        },
        async meanwhile() {
          await keepSeen();
          // The cut call runs again, the finished one beside it does not; then the answer is cut.
          pages.held.clear();
          answers.set(model, (request) =>
            isAnswer(request)
              ? stallAfter(1 + 6, { text: ANSWER, chunks: words.length })
              : turn({ text: 'I know enough.' }),
          );
        },
      },
      {
        async reach(gateway) {
          await resume(gateway);
          await reader.until((events) => events.some((event) => event.type === 'response.output_text.delta'));
        },
        async meanwhile() {
          await keepSeen();
          const before = Buffer.concat(seen).toString();
          written = [...before.matchAll(/output_text\.delta".*?"delta":("(?:[^"\\]|\\.)*")/g)]
            .map((m) => JSON.parse(m[1] ?? '""'))
            .join('');
          answers.set(model, () => turn({ text: ANSWER.slice(written.length) }));
        },
      },
    ],
    async end(gateway) {
      assert.ok(ANSWER.startsWith(written) && written.length > 0);
      await resume(gateway);
      await keepSeen();
      const whole = Buffer.concat(seen);
      const replay = await read(gateway, id);
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
    },
  };
}

function crashedAfterLastWord({ answers }: Scene): Story {
  const model = 'all-said';
  const words = UNCITED.split(/(?<= )/).length;
  let id = '';
  answers.set(model, (request) =>
    isAnswer(request) ? stallAfter(1 + words, { text: UNCITED, chunks: words }) : turn({ text: 'I know enough.' }),
  );
  return {
    lives: [
      {
        async reach(gateway) {
          const reader = await ask(gateway, { model, input: 'Will it end?' });
          id = idIn(await reader.until((seen) => textOf(seen) === UNCITED));
        },
        async meanwhile() {
          answers.set(model, () => turn({ text: '' }));
        },
      },
    ],
    async end(gateway) {
      const last = (await (await read(gateway, id)).end()).at(-1);
      assert.equal(last?.type, 'response.completed');
      assert.equal(last.response.output_text, UNCITED);
    },
  };
}

function inParts({ answers }: Scene): Story {
  const model = 'in-parts';
  const report = Array.from({ length: 120 }, (_, n) => `Line ${n} of the report tells of ${n * 7} things.`).join(' ');
  const length = Math.ceil(report.length / 4);
  let stalls = true;
  let id = '';
  let written = 0;
  const part = (n: number): Life => ({
    async reach(gateway) {
      const reader = n === 0 ? await ask(gateway, { model, input: 'Will it end?' }) : await read(gateway, id);
      const events = await reader.until((seen) => textOf(seen).length > written + length / 4);
      written = textOf(events).length;
      id = idIn(events);
    },
    async meanwhile() {
      stalls = n < 3;
    },
  });
  answers.set(model, (request) => {
    if (!isAnswer(request)) return turn({ text: 'I know enough.' });
    const said = (request.body.messages ?? []).filter(({ role }) => role === 'assistant').at(-1)?.content;
    const from = typeof said === 'string' && report.startsWith(said) ? said.length : 0;
    const text = report.slice(from, from + length);
    const finish = from + length >= report.length ? 'stop' : 'length';
    return stalls ? stallAfter(5, { text, chunks: 8, finish }) : turn({ text, chunks: 8, finish });
  });
  return {
    lives: [0, 1, 2, 3].map(part),
    async end(gateway) {
      const last = (await (await read(gateway, id)).end()).at(-1);
      assert.equal(last?.type, 'response.completed');
      assert.equal(last.response.output_text, report);
      assert.equal(last.response.incomplete_details, null);
    },
  };
}

function crashedRepeatedly({ provider, answers }: Scene): Story {
  const model = 'given-up';
  const isAsked = (question: string) => (request: ProviderRequest) =>
    JSON.stringify(request.body.messages).includes(question);
  const thinks = isAsked('Will it think?');
  const requests = (question: string) => provider.requests.filter(isAsked(question)).length;
  const thoughts = (events: RunEvent[]) => count(events, 'response.reasoning_text.delta');
  let ids: string[] = [];
  let seen = 0;
  const claim = (n: number): Life => ({
    async reach(gateway) {
      const call = async (path: string, body?: object) => {
        const init = { method: 'POST', headers: HEADERS, body: body ? JSON.stringify(body) : null };
        return (await (await fetch(`${gateway.url}/v1/responses${path}`, init)).json()) as {
          id: string;
          status: string;
        };
      };
      if (n === 0) {
        const submit = async (input: string) => (await call('', { model, input, background: true })).id;
        ids = await Promise.all(['Will it think?', 'Will it hang?', 'Will it be cancelled?'].map(submit));
        await until(() => requests('Will it be cancelled?') === 1 || undefined);
        assert.equal((await call(`/${ids[2]}/cancel`)).status, 'cancelled');
      }
      const reader = await read(gateway, ids[0] ?? '');
      seen = thoughts(await reader.until((events) => thoughts(events) > seen));
      await until(() => requests('Will it hang?') === n + 1 || undefined);
    },
  });
  answers.set(model, (request) =>
    thinks(request) ? stallAfter(3, { reasoning: 'a thought that never ends' }) : hang(),
  );
  return {
    lives: [0, 1, 2, 3, 4].map(claim),
    async end(gateway) {
      const ends = await Promise.all(
        ids.map(async (id) => {
          const last = (await (await read(gateway, id)).end()).at(-1);
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
    },
  };
}

async function open(stack: AsyncDisposableStack) {
  const pages = stack.use(await startPages());
  const answers: Scene['answers'] = new Map();
  const provider = stack.use(
    await startScriptedProvider({
      respond(request) {
        const answer = answers.get(String(request.body.model));
        assert.ok(answer, `nobody asked for ${request.body.model}`);
        return answer(request);
      },
    }),
  );
  const { path: folder } = stack.use(await gatewayFolder());
  const start = () =>
    startGatewayProcess(configOf({ folder, provider: provider.url, models: [...answers.keys()] }), { folder });
  return { scene: { pages, provider, answers }, start };
}

describe('a run in file mode', function () {
  // Its gateway is killed and comes back several times.
  this.timeout(patience(60));
  acrossRestarts<Scene>(open, {
    'survives kill -9 in a thought, in a tool call and in the answer, for a reader that resumes': resumed,
    'completes if the crash came between the last word of its answer and its end': crashedAfterLastWord,
    'writes a report in parts, each stopped at the length limit, through kill -9 in every part': inParts,
    'fails as run_crashed after five claims without a finished step, and keeps an accepted cancel': crashedRepeatedly,
  });
});
