import assert from 'node:assert/strict';
import { readFileSync, writeFileSync } from 'node:fs';
import OpenAI, { APIError } from 'openai';
import { isObject } from '../../src/base/json.ts';
import { CHAT_FAULTS, type ChatFault, goodAnswer } from '../support/chat-faults.ts';
import { CLIENT_KEY, type ProxyGateway, payloadsOf, send, startProxyGateway } from '../support/proxy-gateway.ts';
import { refusedUrl, type ScriptedProvider, startScriptedProvider } from '../support/scripted-provider.ts';

/**
 * Every provider fault, on the first of two routes and on the only route: the outcome of a research run and of a chat
 * completion on a proxy model. The table in docs/failover.md holds the outcomes; `UPDATE_DOCS=1` rewrites it.
 */
const PAGE = new URL('../../docs/failover.md', import.meta.url);
const BEGIN = '<!-- outcomes: written by test/http/proxy-faults.test.ts -->\n';
const END = '<!-- end of outcomes -->\n';

/** Timeouts that only a provider that stays silent exceeds: a busy machine changes no outcome. */
const PATIENT = { connect: 30, first_byte: 30, first_token: 30, idle: 30 };
const QUICK: Readonly<Record<string, Partial<typeof PATIENT>>> = {
  'slow headers': { first_byte: 0.3 },
  'no headers at all': { first_byte: 0.3 },
  'slow first token': { first_token: 0.3 },
  'stall in the middle': { idle: 0.3 },
  'body never ends': { idle: 0.3 },
};

function timeoutsOf(fault: ChatFault | undefined) {
  return { ...PATIENT, ...QUICK[fault?.name ?? ''] };
}
const GOOD = 'The good provider answers this.';

interface Outcome {
  fault: string;
  research: string;
  streamed: string;
  whole: string;
  aloneStreamed: string;
  aloneWhole: string;
}

describe('provider faults', () => {
  let outcomes: Outcome[];
  let gateway: ProxyGateway;
  const stack = new AsyncDisposableStack();

  before(async () => {
    const good = stack.use(
      await startScriptedProvider({ respond: ({ body }) => goodAnswer(GOOD, body.stream === true) }),
    );
    const providers = await Promise.all(CHAT_FAULTS.map((fault) => faultyUrl(fault, stack)));
    gateway = stack.use(await startProxyGateway(configuration(providers, good)));
    outcomes = await Promise.all(CHAT_FAULTS.map((fault, n) => observe(gateway, fault, n)));
  });

  after(() => stack.disposeAsync());

  it('fail no research run', () => {
    for (const { fault, research } of outcomes) assert.match(research, /^completes/, fault);
  });

  it('reach a proxy client only after something was delivered, and then as an error chunk', () => {
    const late = outcomes.filter(({ streamed }) => !streamed.startsWith('completes'));
    assert.deepEqual(
      late.map(({ fault }) => fault),
      ['stall in the middle', 'cut after several chunks', 'error in the middle', 'body ends without a finish reason'],
    );
    for (const { fault, streamed } of late) assert.match(streamed, /^error chunk/, fault);
    for (const { fault, whole } of outcomes) assert.match(whole, /^completes/, fault);
  });

  it('are never passed off as an answer if there is no other provider', () => {
    for (const { fault, aloneStreamed, aloneWhole } of outcomes) {
      const fine = ['usage missing', 'body never ends'].includes(fault);
      const streams = fine || fault === 'malformed JSON in the middle';
      assert.match(aloneStreamed, streams ? /^completes/ : /^(?:4|5)\d\d |^error chunk/, `${fault}, streamed`);
      assert.match(aloneWhole, fine ? /^completes/ : /^(?:4|5)\d\d /, `${fault}, whole`);
    }
  });

  it('match the table in docs/failover.md', () => {
    const page = readFileSync(PAGE, 'utf8');
    const [head = '', rest = ''] = page.split(BEGIN);
    const [, tail = ''] = rest.split(END);
    const expected = head + BEGIN + tableOf(outcomes) + END + tail;
    if (process.env.UPDATE_DOCS === '1') writeFileSync(PAGE, expected);
    else assert.equal(page, expected, 'run this test with UPDATE_DOCS=1 to write the table anew');
  });
});

async function faultyUrl({ script }: ChatFault, stack: AsyncDisposableStack): Promise<string> {
  if (script === 'refused') return await refusedUrl();
  const provider = stack.use(await startScriptedProvider({ respond: ({ body }) => script(body.stream === true) }));
  return provider.url;
}

/** Each model has its own providers, because health and limits are kept per provider. */
function configuration(urls: readonly string[], good: ScriptedProvider) {
  const first = (name: string) =>
    urls.map((url, n) => [`${name}-${n}`, { url, timeouts: timeoutsOf(CHAT_FAULTS[n]) }] as const);
  const models = (name: string, options: { alone?: boolean; kind?: string } = {}) =>
    urls.map((_, n) => {
      const routes = [
        { provider: `${name}-${n}`, model: 'm' },
        { provider: 'good', model: 'm' },
      ];
      const { alone = false, kind = 'proxy' } = options;
      const research = kind === 'research' ? { research: { tools: [] } } : {};
      return [`${name}-${n}`, { kind, routes: alone ? routes.slice(0, 1) : routes, ...research }] as const;
    });
  return {
    providers: {
      ...Object.fromEntries(['deep', 'streamed', 'whole', 'alone-streamed', 'alone-whole'].flatMap(first)),
      good: { url: good.url },
    },
    models: Object.fromEntries([
      ...models('deep', { kind: 'research' }),
      ...models('streamed'),
      ...models('whole'),
      ...models('alone-streamed', { alone: true }),
      ...models('alone-whole', { alone: true }),
    ]),
  };
}

async function observe(gateway: ProxyGateway, fault: ChatFault, n: number): Promise<Outcome> {
  const [research, streamed, whole, aloneStreamed, aloneWhole] = await Promise.all([
    researched(gateway, `deep-${n}`),
    streamedChat(gateway, `streamed-${n}`),
    wholeChat(gateway, `whole-${n}`),
    streamedChat(gateway, `alone-streamed-${n}`),
    wholeChat(gateway, `alone-whole-${n}`),
  ]);
  return { fault: fault.name, research, streamed, whole, aloneStreamed, aloneWhole };
}

async function researched(gateway: ProxyGateway, model: string): Promise<string> {
  const answer = await send(gateway, '/responses', { body: { model, input: 'What is it?', stream: false } });
  const run: unknown = await answer.json();
  assert.ok(isObject(run));
  if (run.status !== 'completed') return `${run.status}: ${JSON.stringify(run.error)}`;
  return `completes${by(String(run.output_text))}`;
}

async function wholeChat(gateway: ProxyGateway, model: string): Promise<string> {
  const answer = await send(gateway, '/chat/completions', { body: chatOf(model) });
  const text = await answer.text();
  if (answer.status !== 200) return refusal(answer.status, text);
  const content = JSON.parse(text).choices[0].message.content;
  return `completes${by(content)}`;
}

async function streamedChat(gateway: ProxyGateway, model: string): Promise<string> {
  const answer = await send(gateway, '/chat/completions', { body: { ...chatOf(model), stream: true } });
  const text = await answer.text();
  if (answer.status !== 200) return refusal(answer.status, text);
  const payloads = payloadsOf(text);
  const [broken, last] = payloads.slice(-2);
  const content = payloads.map(deltaOf).join('');
  if (last === '[DONE]' || !isObject(last) || !isObject(last.error)) {
    assert.match(text, /"finish_reason":"stop"/, `a stream of ${model} ended without saying why: ${text}`);
    return `completes${by(content)}`;
  }
  assert.ok(isObject(broken) && Array.isArray(broken.choices) && broken.choices[0].finish_reason === 'error', text);
  assert.deepEqual(last, { error: broken.error });
  await assertSdkThrows(gateway, model);
  return `error chunk, \`${last.error.code}\``;
}

/** Asserts that the official SDK throws when the stream breaks off. */
async function assertSdkThrows(gateway: ProxyGateway, model: string): Promise<void> {
  const client = new OpenAI({ baseURL: gateway.url, apiKey: CLIENT_KEY, maxRetries: 0 });
  const stream = await client.chat.completions.create({
    model,
    messages: [{ role: 'user', content: 'hello' }],
    stream: true,
  });
  await assert.rejects(async () => {
    for await (const _ of stream);
  }, APIError);
}

function chatOf(model: string): object {
  return { model, messages: [{ role: 'user', content: 'hello' }] };
}

function deltaOf(payload: unknown): string {
  const choices = isObject(payload) && Array.isArray(payload.choices) ? payload.choices : [];
  return choices[0]?.delta?.content ?? '';
}

function by(text: string): string {
  return text.includes(GOOD) ? ' (second provider)' : ' (first provider)';
}

function refusal(status: number, text: string): string {
  if (!text.startsWith('{')) return `${status} as it came`;
  const { error } = JSON.parse(text);
  return error.type === 'scripted' ? `${status} as it came` : `${status} \`${error.code}\``;
}

function tableOf(outcomes: readonly Outcome[]): string {
  const head = [
    'fault of the first provider',
    'research run',
    'proxy chat, streamed',
    'proxy chat, whole',
    'without a second provider, streamed',
    'without a second provider, whole',
  ];
  const rows = outcomes.map((row) => [
    row.fault,
    row.research,
    row.streamed,
    row.whole,
    row.aloneStreamed,
    row.aloneWhole,
  ]);
  const widths = head.map((title, n) => Math.max(title.length, ...rows.map((row) => (row[n] ?? '').length)));
  const line = (cells: readonly string[]) => `| ${cells.map((cell, n) => cell.padEnd(widths[n] ?? 0)).join(' | ')} |\n`;
  return `\n${line(head)}${line(widths.map((width) => '-'.repeat(width)))}${rows.map(line).join('')}\n`;
}
