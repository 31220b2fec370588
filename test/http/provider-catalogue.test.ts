import assert from 'node:assert/strict';
import { readFileSync, writeFileSync } from 'node:fs';
import { isObject } from '../../src/base/json.ts';
import { completion } from '../support/chat-faults.ts';
import { fairMs } from '../support/fair-time.ts';
import { chat, type ProxyGateway, payloadsOf, send, startProxyGateway } from '../support/proxy-gateway.ts';
import {
  cutAfter,
  frames,
  hang,
  insertAfter,
  json,
  type ProviderRequest,
  raw,
  reset,
  type Script,
  type ScriptedProvider,
  stallAfter,
  startScriptedProvider,
  status,
  turn,
  turnPayloads,
} from '../support/scripted-provider.ts';
import { patience } from '../support/time-limit.ts';

/**
 * The sixteen provider faults of Failover Bench with its checks: for chat completions on a proxy model (streamed,
 * streamed with `continue_streams`, whole) and for research runs. The table in docs/failover.md holds the outcomes of
 * this test; `UPDATE_DOCS=1` rewrites it.
 */
const PAGE = new URL('../../docs/failover.md', import.meta.url);
const BEGIN = '<!-- catalogue: written by test/http/provider-catalogue.test.ts -->\n';
const END = '<!-- end of catalogue -->\n';

/** How long the gateway waits for a silent provider here, in seconds. */
const SILENCE = 0.4;
const ANSWER = Array.from({ length: 60 }, (_, n) => `word${n}`).join(' ');
const TURN = { text: ANSWER, usage: { prompt_tokens: 20, completion_tokens: 60, total_tokens: 80 } };

type Way = 'streamed' | 'continued' | 'whole' | 'research';
const WAYS: readonly Way[] = ['streamed', 'continued', 'whole', 'research'];

interface Seen {
  /** What the client got. */
  answer: 'whole' | 'error' | 'cut';
  text: string;
  seconds: number;
  /** When each request reached a provider, in milliseconds. */
  first: number[];
  second: number[];
  model: string | undefined;
  hasUsage: boolean;
}

interface Scenario {
  id: string;
  fault: string;
  /** What the first provider does with its `n`th request, from 0. */
  first(stream: boolean, n: number): Script;
  second?(request: ProviderRequest): Script;
  /** Asserts what is expected beyond a whole answer in time. */
  check?(seen: Seen): void;
  /** Whether an error is the expected answer. */
  fails?: boolean;
  /** Whether a stream without `continue_streams` must end with an error. */
  breaksStreams?: boolean;
}

const good = (stream: boolean, model = 'm'): Script =>
  stream ? frames(turnPayloads(TURN).map((payload) => ({ ...payload, model }))) : json(completion(ANSWER, { model }));
const once = (fault: Script) => (stream: boolean, n: number) => (n === 0 ? fault : good(stream));
const only =
  (streamed: Script, whole: Script = streamed) =>
  (stream: boolean) =>
    stream ? streamed : whole;
const TYPE = { headers: { 'content-type': 'application/json' } };
const part = (bytes: string, end: 'cut' | 'hang' | 'end'): Script => ({
  ...raw('', TYPE),
  steps: [{ do: 'send', bytes }, { do: end }],
});
const COMPLETION = JSON.stringify(completion(ANSWER));
const refusal = (code: string, message: string): Script =>
  status(400, { body: JSON.stringify({ error: { message, type: 'invalid_request_error', code } }) });

const retriedOnce = ({ first }: Seen) => assert.equal(first.length, 2);
const askedOnce = ({ first }: Seen) => assert.equal(first.length, 1);
const bounded = ({ first }: Seen) => assert.ok(first.length <= 6, `${first.length} attempts`);

const SCENARIOS: readonly Scenario[] = [
  {
    id: 'S01',
    fault: '429 with `Retry-After: 2`, once',
    first: once(status(429, { headers: { 'retry-after': '2' } })),
    check(seen) {
      retriedOnce(seen);
      const [one = 0, two = 0] = seen.first;
      assert.ok(two - one >= 1800, `${two - one} ms`);
    },
  },
  { id: 'S02', fault: '429 without Retry-After, always', first: only(status(429)), check: bounded },
  { id: 'S03', fault: '500 once', first: once(status(500)), check: retriedOnce },
  { id: 'S04', fault: '503 always', first: only(status(503)), check: bounded },
  { id: 'S05', fault: 'connection reset, once', first: once(reset()) },
  { id: 'S06', fault: 'no response at all', first: only(hang()), check: askedOnce },
  { id: 'S07', fault: 'first token after 20 s', first: only({ ...hang(), headersAfter: 0 }) },
  {
    id: 'S08',
    fault: 'cut after 40 of 60 tokens',
    first: only(cutAfter(41, TURN), part(COMPLETION.slice(0, 200), 'cut')),
    breaksStreams: true,
  },
  {
    id: 'S09',
    fault: 'silent after 20 tokens',
    first: only(stallAfter(21, TURN), part(COMPLETION.slice(0, 100), 'hang')),
    breaksStreams: true,
  },
  {
    id: 'S10',
    fault: 'malformed chunk in the middle',
    first: only(
      insertAfter(10, '{"id": "x", "choices": [{"delta": {"content": ', TURN),
      part(`${COMPLETION.slice(0, 150)}"oops`, 'end'),
    ),
  },
  {
    id: 'S11',
    fault: 'no `[DONE]`',
    first: only(frames(turnPayloads(TURN), { done: false }), good(false)),
    check: ({ hasUsage }) => assert.ok(hasUsage),
  },
  {
    id: 'S12',
    fault: '400 `context_length_exceeded`',
    first: only(refusal('context_length_exceeded', 'maximum context length is 8192 tokens')),
    check: askedOnce,
  },
  {
    id: 'S13',
    fault: '400 content filter',
    first: only(refusal('content_policy_violation', 'Your request was rejected as a result of our safety system.')),
    fails: true,
    check(seen) {
      askedOnce(seen);
      assert.match(seen.text, /safety system/);
    },
  },
  {
    id: 'S14',
    fault: 'cut, and the next refuses prefill',
    first: only(cutAfter(41, TURN), part(COMPLETION.slice(0, 200), 'cut')),
    second: ({ body }) =>
      body.messages?.at(-1)?.role === 'assistant'
        ? refusal(
            'invalid_prefill',
            'This model does not support assistant message prefill. The conversation must end with a user message.',
          )
        : good(body.stream === true, 'second'),
    breaksStreams: true,
  },
  {
    id: 'S16',
    fault: '503 always: who is named',
    first: only(status(503)),
    check: ({ model, hasUsage }) => assert.ok(hasUsage && (model === undefined || model === 'second')),
  },
];

/** A whole answer, or the rest of one that an assistant message has begun. */
function continuesPrefill({ body }: ProviderRequest): Script {
  const last = body.messages?.at(-1);
  const said = last?.role === 'assistant' ? String(last.content) : '';
  if (said === '' || !ANSWER.startsWith(said)) return good(body.stream === true, 'second');
  return body.stream ? turn({ text: ANSWER.slice(said.length) }) : json(completion(ANSWER.slice(said.length)));
}

interface Row {
  id: string;
  fault: string;
  seen: Record<Way, Seen>;
}

describe('the catalogue of provider faults', function () {
  // Some faults last for seconds.
  this.timeout(patience(30));
  const stack = new AsyncDisposableStack();
  const rows: Row[] = [];
  let gateway: ProxyGateway;
  /** How many seconds a busy machine may add. */
  let busySeconds: number;

  before(async () => {
    const providers: Record<string, object> = {};
    const models: Record<string, object> = {};
    const worlds: { scenario: Scenario; way: Way; name: string; first: Watched; second: Watched }[] = [];
    for (const scenario of SCENARIOS) {
      for (const way of WAYS) {
        const name = `${scenario.id}-${way}`;
        const first = await watched(({ body }, n) => scenario.first(body.stream === true, n), stack);
        const second = await watched((request) => (scenario.second ?? continuesPrefill)(request), stack);
        // Short timeouts only for what stays silent: a busy machine changes no outcome.
        const timeouts = {
          ...(['S06', 'S07'].includes(scenario.id) && { patience: SILENCE }),
          ...(['S06', 'S07', 'S09'].includes(scenario.id) && { idle: SILENCE }),
        };
        providers[`${name}-1`] = { url: first.provider.url, timeouts, maxRetries: 2 };
        providers[`${name}-2`] = { url: second.provider.url, maxRetries: 2 };
        models[name] = {
          kind: way === 'research' ? 'research' : 'proxy',
          routes: [1, 2].map((n) => ({ provider: `${name}-${n}`, model: n === 1 ? 'first' : 'second' })),
          ...(way === 'research' ? { research: { tools: [] } } : { continue_streams: way === 'continued' }),
        };
        worlds.push({ scenario, way, name, first, second });
      }
    }
    gateway = stack.use(await startProxyGateway({ providers: providers as never, models }));
    busySeconds = patience(2) / 1000;
    const seen = await Promise.all(
      worlds.map(async ({ way, name, first, second }) => ({
        ...(await ask(gateway, name, way)),
        first: first.at,
        second: second.at,
      })),
    );
    for (const scenario of SCENARIOS) {
      const of = (way: Way) =>
        seen[worlds.findIndex((world) => world.scenario === scenario && world.way === way)] as Seen;
      rows.push({
        id: scenario.id,
        fault: scenario.fault,
        seen: { streamed: of('streamed'), continued: of('continued'), whole: of('whole'), research: of('research') },
      });
    }
  });
  after(() => stack.disposeAsync());

  for (const [n, scenario] of SCENARIOS.entries()) {
    for (const way of WAYS) {
      const breaks = way === 'streamed' && scenario.breaksStreams;
      const promise = breaks ? 'ends with an error' : scenario.fails ? 'is refused with its reason' : 'is answered';
      it(`${scenario.id}, ${scenario.fault}: ${promise} (${way})`, () => {
        const seen = rows[n]?.seen[way];
        assert.ok(seen);
        assert.equal(seen.answer, breaks || scenario.fails ? 'error' : 'whole', seen.text);
        if (!breaks && !scenario.fails) assert.equal(seen.text.trim(), ANSWER);
        const least = leastOf(scenario.id, way);
        assert.ok(seen.seconds >= least && seen.seconds < least + busySeconds, `${seen.seconds} s instead of ${least}`);
        if (!breaks) scenario.check?.(seen);
      });
    }
  }

  it('S15, down for a while: the second route answers, and the first is used again soon after it recovers', async () => {
    let isDown = true;
    await using first = await startScriptedProvider({
      respond: ({ body }) => (isDown ? status(503) : good(body.stream === true, 'first')),
    });
    await using second = await startScriptedProvider({ respond: ({ body }) => good(body.stream === true, 'second') });
    const routes = ['one', 'two'].map((provider) => ({ provider, model: 'm' }));
    await using flapping = await startProxyGateway({
      providers: { one: { url: first.url, maxRetries: 2 }, two: { url: second.url } },
      models: { flap: { kind: 'proxy', routes } },
    });
    const downAt = performance.now();
    for (let n = 0; n < 10; n += 1) assert.equal((await ask(flapping, 'flap', 'streamed')).answer, 'whole');
    const during = first.requests.length;
    // It is asked again after two seconds.
    const most = 8 + (performance.now() - downAt) / 1500;
    assert.ok(during <= most, `${during} requests at a provider that is down`);
    isDown = false;
    const recoveredAt = performance.now();
    for (;;) {
      const { answer, model } = await ask(flapping, 'flap', 'streamed');
      assert.equal(answer, 'whole');
      if (model === 'first') break;
      assert.ok(fairMs(performance.now() - recoveredAt) < 12_000, 'the first route is not used again');
      await new Promise((resolve) => setTimeout(resolve, 100));
    }
  });

  it('match the table in docs/failover.md', () => {
    const page = readFileSync(PAGE, 'utf8');
    const [head = '', rest = ''] = page.split(BEGIN);
    const [, tail = ''] = rest.split(END);
    const expected = head + BEGIN + tableOf(rows) + END + tail;
    if (process.env.UPDATE_DOCS === '1') writeFileSync(PAGE, expected);
    else assert.equal(page, expected, 'run this test with UPDATE_DOCS=1 to write the table anew');
  });
});

interface Watched {
  provider: ScriptedProvider;
  at: number[];
}

async function watched(
  respond: (request: ProviderRequest, n: number) => Script,
  stack: AsyncDisposableStack,
): Promise<Watched> {
  const at: number[] = [];
  const provider = stack.use(
    await startScriptedProvider({
      respond: (request, n) => {
        at.push(performance.now());
        return respond(request, n);
      },
    }),
  );
  return { provider, at };
}

async function ask(gateway: ProxyGateway, model: string, way: Way): Promise<Omit<Seen, 'first' | 'second'>> {
  const from = performance.now();
  const got = way === 'research' ? await research(gateway, model) : await complete(gateway, model, way !== 'whole');
  return { ...got, seconds: (performance.now() - from) / 1000 };
}

async function complete(gateway: ProxyGateway, model: string, stream: boolean) {
  const options = stream ? { stream_options: { include_usage: true } } : {};
  const answer = await send(gateway, '/chat/completions', { body: chat({ model, stream, ...options }) });
  const text = await answer.text();
  const hasUsage = text.includes('"completion_tokens"');
  if (answer.status !== 200) return { answer: 'error' as const, text, model: undefined, hasUsage };
  if (!stream) {
    const { choices, model: named } = JSON.parse(text);
    return { answer: 'whole' as const, text: String(choices[0].message.content), model: named, hasUsage };
  }
  const payloads = payloadsOf(text).filter(isObject);
  const content = payloads.map(contentOf).join('');
  const isError = payloads.some((payload) => isObject(payload.error));
  const isEnded = text.includes('"finish_reason":"stop"');
  const named = payloads[0]?.model;
  return {
    answer: isError ? ('error' as const) : isEnded ? ('whole' as const) : ('cut' as const),
    text: isError ? text : content,
    model: typeof named === 'string' ? named : undefined,
    hasUsage,
  };
}

async function research(gateway: ProxyGateway, model: string) {
  const answer = await send(gateway, '/responses', { body: { model, input: 'What is it?', stream: false } });
  const run: unknown = await answer.json();
  assert.ok(isObject(run) && isObject(run.usage));
  const isWhole = run.status === 'completed';
  const text = isWhole ? String(run.output_text) : JSON.stringify(run.error);
  return {
    answer: isWhole ? ('whole' as const) : ('error' as const),
    text,
    model: undefined,
    hasUsage: run.usage.estimated !== true,
  };
}

function contentOf({ choices }: Record<string, unknown>): string {
  const [choice] = Array.isArray(choices) ? choices : [];
  return isObject(choice?.delta) && typeof choice.delta.content === 'string' ? choice.delta.content : '';
}

/** The time a fault costs as the page says it, and the least seconds it must take here, by way if they differ. */
interface Cost {
  says: string;
  least: number | Partial<Record<Way, number>>;
}

const PATIENCE: Cost = {
  says: 'its [patience](#patience): 10 to 30 s, whole 30 to 90 s; less with `hedge_after`',
  least: { streamed: SILENCE, continued: SILENCE, whole: 3 * SILENCE, research: SILENCE },
};
/** The pause before a retry of a route is 0.15 s ± 50 %. */
const QUICK: Cost = { says: '0.1 to 0.2 s', least: 0.07 };
const NOTHING: Cost = { says: 'nothing', least: 0 };
const COST: Readonly<Record<string, Cost>> = {
  S01: { says: '2 s (the `Retry-After`)', least: 1.8 },
  S03: QUICK,
  S04: QUICK,
  S06: PATIENCE,
  S07: PATIENCE,
  S09: { says: '`timeouts.idle` (60 s)', least: SILENCE },
  S16: QUICK,
};
/** The least seconds that a fault must take in this way. */
function leastOf(id: string, way: Way): number {
  const { least } = COST[id] ?? NOTHING;
  return typeof least === 'number' ? least : (least[way] ?? 0);
}

function tableOf(rows: readonly Row[]): string {
  const head = ['', 'fault of the first provider', 'streamed', 'with `continue_streams`', 'whole', 'research', 'costs'];
  const cells = rows.map(({ id, fault, seen }) => [
    id,
    fault,
    ...WAYS.map((way) => outcomeOf(seen[way])),
    (COST[id] ?? NOTHING).says,
  ]);
  cells.push([
    'S15',
    'down for a while',
    ...WAYS.map(() => 'answered'),
    'nothing: it is probed beside the traffic; back within 8 s',
  ]);
  cells.sort(([a = ''], [b = '']) => a.localeCompare(b));
  const widths = head.map((title, n) => Math.max(title.length, ...cells.map((row) => (row[n] ?? '').length)));
  const line = (row: readonly string[]) => `| ${row.map((cell, n) => cell.padEnd(widths[n] ?? 0)).join(' | ')} |\n`;
  return `\n${line(head)}${line(widths.map((width) => '-'.repeat(width)))}${cells.map(line).join('')}\n`;
}

function outcomeOf({ answer, first, second }: Seen): string {
  if (answer !== 'whole') return 'error';
  return second.length === 0 ? 'answered by the first' : first.length > 0 ? 'answered' : 'answered by the second';
}
