import assert from 'node:assert/strict';
import { once } from 'node:events';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import { isObject } from '../../src/base/json.ts';
import { until } from '../support/http-gateway.ts';
import { type ProxyGateway, send, startProxyGateway } from '../support/proxy-gateway.ts';
import { Random } from '../support/random.ts';
import { patience } from '../support/time-limit.ts';

/**
 * Random calls to a provider that counts what it received and delivered. Keys must be charged about that, whether or
 * not the provider reports it, and wherever the call was cut off or abandoned. 2 000 calls over real HTTP take longer
 * than other tests, about 20 seconds on a busy machine.
 */

const CALLS = 1600;
const LIMITED_CALLS = 400;
const PARALLEL = 32;
const SEED = Number(process.env.FUZZ_SEED ?? 1);

const KINDS = ['chat', 'completions', 'responses', 'messages'] as const;
/** How a call ends. Each fate has its own key, so that errors in opposite directions do not cancel out. */
const FATES = ['whole', 'cut', 'left', 'left before the first byte', 'refused', 'reset'] as const;
/** What the provider reports: the truth, nothing, or one of these. Each has its own keys, too. */
const LIES = {
  total: { total_tokens: 90_000_000 },
  'no prompt': { prompt_tokens: null, total_tokens: 5000 },
  nothing: { prompt_tokens: 0, completion_tokens: 0, input_tokens: 0, output_tokens: 0, total_tokens: 0 },
  'too little': { prompt_tokens: 0, completion_tokens: 1, input_tokens: 0, output_tokens: 1 },
  nonsense: { prompt_tokens: -5, completion_tokens: -1, input_tokens: 'many', output_tokens: null },
  'too much': { prompt_tokens: 99e6, completion_tokens: 99e6, input_tokens: 99e6, output_tokens: 99e6 },
};
const TOLD = ['truth', 'no usage', ...(Object.keys(LIES) as (keyof typeof LIES)[])] as const;
type Told = (typeof TOLD)[number];
type Kind = (typeof KINDS)[number];
type Fate = (typeof FATES)[number];

interface Plan {
  id: number;
  kind: Kind;
  fate: Fate;
  stream: boolean;
  told: Told;
  /** Whether a stream has a report of what came so far in its middle. */
  midway: boolean;
  prompt: string;
  /** Pieces of text of each choice. */
  choices: string[][];
  /** How many pieces are sent before the call is cut off or the client disconnects. */
  pieces: number;
}

/** The provider's own count: four characters are a token; a message adds four tokens. */
const tokensIn = (text: string) => text.length / 4;
/** The tokens of an answer. A provider that reports them may need fewer than an estimate. */
const answerTokens = ({ fate, told }: Plan, text: string) =>
  tokensIn(text) * (fate === 'whole' && told === 'truth' ? 2 / 3 : 1);
const promptOf = (plan: Plan) => Math.ceil(tokensIn(plan.prompt) + (plan.kind === 'completions' ? 0 : 4));
const keyOf = ({ fate, told, stream }: Pick<Plan, 'fate' | 'told' | 'stream'>) =>
  `${fate} ${told} ${stream ? 'streamed' : 'whole'}`.replaceAll(' ', '-');

function plan(id: number, random: Random): Plan {
  const stream = random.chance(0.7);
  const kind = random.pick(KINDS);
  const several = kind === 'chat' || kind === 'completions';
  const choices = Array.from({ length: several ? random.pick([1, 1, 2, 5]) : 1 }, () =>
    Array.from({ length: random.below(20) + 1 }, () => random.words(random.below(12) + 1)),
  );
  const all = choices.reduce((sum, pieces) => sum + pieces.length, 0);
  const fate = random.pick(FATES);
  return {
    id,
    kind,
    stream,
    choices,
    // An incomplete JSON answer is no answer: only streams are cut off or abandoned midway.
    fate: !stream && (fate === 'cut' || fate === 'left') ? 'whole' : fate,
    told: random.pick(TOLD),
    midway: random.chance(0.5),
    // Short, so that answers are most of what is counted.
    prompt: random.words(random.below(20) + 20),
    pieces: random.below(all) + 1,
  };
}

/** The events of a stream: one for each piece, alternating between choices. */
function events({ kind, choices }: Plan): { text: string; event: object }[] {
  const made: { text: string; event: object }[] = [];
  const longest = Math.max(...choices.map((pieces) => pieces.length));
  for (let at = 0; at < longest; at += 1) {
    for (const [index, pieces] of choices.entries()) {
      const text = pieces[at];
      if (text !== undefined) made.push({ text, event: eventOf(kind, { index, text, at }) });
    }
  }
  return made;
}

function eventOf(kind: Kind, { index, text, at }: { index: number; text: string; at: number }): object {
  const call = [{ index: 0, ...(at === 4 && { id: 'c' }), function: { arguments: text } }];
  const fields = [{ content: text }, { reasoning_content: text }, { content: text }, { tool_calls: call }];
  switch (kind) {
    case 'chat':
      return { id: 'x', choices: [{ index, delta: fields[at % 4], finish_reason: null }] };
    case 'completions':
      return { id: 'x', choices: [{ index, text, finish_reason: null }] };
    case 'responses':
      return { type: 'response.output_text.delta', delta: text };
    case 'messages':
      return { type: 'content_block_delta', index: 0, delta: { type: 'text_delta', text } };
  }
}

function ending(plan: Plan, usage: object | undefined): string {
  const data = (payload: object) => `data: ${JSON.stringify(payload)}\n\n`;
  switch (plan.kind) {
    case 'chat':
    case 'completions': {
      const ends = plan.choices.map((_, index) =>
        data({ id: 'x', choices: [{ index, delta: {}, text: '', finish_reason: 'stop' }] }),
      );
      return `${ends.join('')}${usage ? data({ id: 'x', choices: [], usage }) : ''}data: [DONE]\n\n`;
    }
    case 'responses': {
      const output = [{ type: 'message', content: [{ type: 'output_text', text: textOf(plan) }] }];
      return data({ type: 'response.completed', response: { status: 'completed', output, ...(usage && { usage }) } });
    }
    case 'messages':
      return `${usage ? data({ type: 'message_delta', delta: { stop_reason: 'end_turn' }, usage }) : ''}${data({ type: 'message_stop' })}`;
  }
}

function wholeOf(plan: Plan, usage: object | undefined): object {
  const usageField = usage && { usage };
  switch (plan.kind) {
    case 'chat':
      return {
        choices: plan.choices.map((pieces, index) => ({
          index,
          message: { role: 'assistant', content: pieces.join('') },
          finish_reason: 'stop',
        })),
        ...usageField,
      };
    case 'completions':
      return { choices: plan.choices.map((pieces, index) => ({ index, text: pieces.join('') })), ...usageField };
    case 'responses':
      return {
        object: 'response',
        status: 'completed',
        output: [{ type: 'message', content: [{ type: 'output_text', text: textOf(plan) }] }],
        ...usageField,
      };
    case 'messages':
      return { type: 'message', role: 'assistant', content: [{ type: 'text', text: textOf(plan) }], ...usageField };
  }
}

const textOf = ({ choices }: Plan) => choices.flat().join('');

function usageOf(plan: Plan, text: string): object {
  const [input, output] = [promptOf(plan), Math.ceil(answerTokens(plan, text))];
  return plan.kind === 'responses' || plan.kind === 'messages'
    ? { input_tokens: input, output_tokens: output }
    : { prompt_tokens: input, completion_tokens: output, total_tokens: input + output };
}

/** An event in the middle of a stream that reports what came so far. */
function midwayReport(plan: Plan, text: string): object {
  const usage = usageOf(plan, text);
  switch (plan.kind) {
    case 'chat':
    case 'completions':
      return { id: 'x', choices: [], usage };
    case 'responses':
      return { type: 'response.in_progress', response: { status: 'in_progress', output: [], usage } };
    case 'messages':
      return { type: 'message_delta', delta: {}, usage };
  }
}

/** Answers according to the plans, and counts tokens. */
class CountingProvider implements AsyncDisposable {
  readonly plans = new Map<number, Plan>();
  /** Tokens by key. */
  readonly counted = new Map<string, number>();
  /** For calls that are abandoned before the first byte: aborts the client. */
  readonly reached = new Map<number, () => void>();
  calls = 0;
  #delivered = 0;
  readonly #server = createServer((req, res) => void this.#serve(req, res).catch(() => res.destroy()));

  async listen(): Promise<string> {
    this.#server.listen(0, '127.0.0.1');
    await once(this.#server, 'listening');
    const address = this.#server.address();
    assert.ok(address && typeof address === 'object');
    return `http://127.0.0.1:${address.port}`;
  }

  get delivered(): number {
    return this.#delivered;
  }

  #count(plan: Plan, tokens: number): void {
    this.#delivered += tokens;
    this.counted.set(keyOf(plan), (this.counted.get(keyOf(plan)) ?? 0) + tokens);
  }

  async #serve(req: IncomingMessage, res: ServerResponse): Promise<void> {
    let body = '';
    for await (const chunk of req) body += chunk;
    const found = this.plans.get(Number(/call-(\d+)/.exec(body)?.[1]));
    assert.ok(found, body);
    const { fate, stream } = found;
    this.calls += 1;
    if (fate === 'refused') {
      res.writeHead(400, { 'content-type': 'application/json' }).end('{"error":{"message":"no"}}');
      return;
    }
    this.#count(found, promptOf(found));
    if (fate === 'reset') return void res.destroy();
    if (fate === 'left before the first byte') return this.reached.get(found.id)?.();
    await (stream ? this.#stream(found, res) : this.#whole(found, res));
  }

  #usage(plan: Plan): object | undefined {
    const { told } = plan;
    if (told === 'no usage') return undefined;
    return told === 'truth' ? usageOf(plan, textOf(plan)) : LIES[told];
  }

  async #whole(plan: Plan, res: ServerResponse): Promise<void> {
    this.#count(plan, Math.ceil(answerTokens(plan, textOf(plan))));
    res.writeHead(200, { 'content-type': 'application/json' }).end(JSON.stringify(wholeOf(plan, this.#usage(plan))));
  }

  async #stream(plan: Plan, res: ServerResponse): Promise<void> {
    res.writeHead(200, { 'content-type': 'text/event-stream' });
    let sent = 0;
    const all = events(plan);
    const middle = plan.midway ? Math.ceil((plan.fate === 'whole' ? all.length : plan.pieces) / 2) : -1;
    let text = '';
    for (const { text: piece, event } of all) {
      if (plan.fate !== 'whole' && sent === plan.pieces) break;
      this.#count(plan, answerTokens(plan, piece));
      sent += 1;
      text += piece;
      res.write(`data: ${JSON.stringify(event)}\n\n`);
      if (sent === middle) res.write(`data: ${JSON.stringify(midwayReport(plan, text))}\n\n`);
      await new Promise((resolve) => setImmediate(resolve));
    }
    if (plan.fate === 'whole') res.end(ending(plan, this.#usage(plan)));
    else if (plan.fate === 'cut') res.destroy();
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#server.closeAllConnections();
    this.#server.close();
  }
}

/** Few calls per model, so that failures never open the circuit of its route. */
const CALLS_OF_MODEL = 4;
const modelOf = ({ id }: Plan) => `m${Math.floor(id / CALLS_OF_MODEL)}`;

const PATHS = {
  chat: '/chat/completions',
  completions: '/completions',
  responses: '/responses',
  messages: '/messages',
};

function requestOf(plan: Plan): object {
  const common = { model: modelOf(plan), stream: plan.stream, metadata: { call: `call-${plan.id}` } };
  const { prompt } = plan;
  const most = Math.max(...plan.choices.map((pieces) => Math.ceil(tokensIn(pieces.join('')))));
  // Many providers accept numbers as strings.
  const [n, longest] = plan.id % 3 === 0 ? [`${plan.choices.length}`, `${most}`] : [plan.choices.length, most];
  switch (plan.kind) {
    case 'completions':
      return { ...common, prompt, n, max_tokens: longest };
    case 'responses':
      return { ...common, input: [{ role: 'user', content: prompt }], max_output_tokens: longest };
    default: {
      const messages = [{ role: 'user', content: prompt }];
      return { ...common, messages, n, max_tokens: longest };
    }
  }
}

/** Makes a call, and disconnects where its plan says. */
async function make(gateway: ProxyGateway, provider: CountingProvider, plan: Plan, secret: string): Promise<number> {
  provider.plans.set(plan.id, plan);
  const left = new AbortController();
  provider.reached.set(plan.id, () => left.abort());
  const options = { body: requestOf(plan), headers: { authorization: `Bearer ${secret}` }, signal: left.signal };
  try {
    const answer = await send(gateway, PATHS[plan.kind], options);
    let seen = 0;
    for await (const chunk of answer.body ?? []) {
      seen += Buffer.from(chunk).toString('utf8').split('data: ').length - 1;
      if (plan.fate === 'left' && seen >= plan.pieces) left.abort();
    }
    return answer.status;
  } catch {
    return 0;
  } finally {
    provider.plans.delete(plan.id);
    provider.reached.delete(plan.id);
  }
}

async function inParallel(count: number, work: (n: number) => Promise<void>): Promise<void> {
  let next = 0;
  const lane = async () => {
    for (let n = next++; n < count; n = next++) await work(n);
  };
  await Promise.all(Array.from({ length: PARALLEL }, lane));
}

async function openWorld(keys: readonly object[]) {
  const stack = new AsyncDisposableStack();
  const provider = stack.use(new CountingProvider());
  const url = await provider.listen();
  const apis = ['chat_completions', 'completions', 'responses', 'messages'];
  const names = Array.from({ length: CALLS / CALLS_OF_MODEL }, (_, n) => `m${n}`);
  const models = names.map((model) => [
    model,
    { kind: 'proxy', responses: 'native', routes: [{ provider: 'one', model }], apis },
  ]);
  const gateway = stack.use(
    await startProxyGateway({
      providers: { one: { url } },
      key: { admin: true },
      keys,
      models: Object.fromEntries(models),
    }),
  );
  const used = async (id: string): Promise<number> => {
    const headers = { authorization: 'Bearer sk-client-of-the-gateway' };
    const overview: unknown = await (await fetch(new URL('/admin/overview', gateway.url), { headers })).json();
    assert.ok(isObject(overview) && Array.isArray(overview.keys));
    return overview.keys.find((key) => key.id === id).limits[0].used;
  };
  return { gateway, provider, used, [Symbol.asyncDispose]: () => stack.disposeAsync() };
}

describe(`what keys are charged for random calls (FUZZ_SEED=${SEED})`, () => {
  it('is within 10 % of what the provider received and delivered', async function () {
    this.timeout(patience(60));
    const ids = new Set<string>();
    for (const fate of FATES)
      for (const told of TOLD) for (const stream of [true, false]) ids.add(keyOf({ fate, told, stream }));
    await using world = await openWorld(
      [...ids].map((id) => ({ id, secret: `sk-${id}`, limits: { tokens_per_day: 100_000_000 } })),
    );
    const { gateway, provider } = world;
    const random = new Random(SEED);
    const plans = Array.from({ length: CALLS }, (_, id) => plan(id, random));
    await inParallel(CALLS, async (n) => {
      const one = plans[n];
      if (one) await make(gateway, provider, one, `sk-${keyOf(one)}`);
    });
    assert.equal(provider.calls, CALLS);
    for (const id of ids) {
      const expected = provider.counted.get(id) ?? 0;
      const isNear = (used: number) => Math.abs(used - expected) <= 0.1 * expected;
      // A reservation is released shortly after the client disconnects.
      const near = until(async () => (isNear(await world.used(id)) ? true : undefined));
      await near.catch(async () => assert.fail(`${id}: ${await world.used(id)} charged, ${expected} delivered`));
    }
  });

  it('never exceeds the limit by more than one call', async function () {
    this.timeout(patience(60));
    const limit = 8000;
    await using world = await openWorld([{ id: 'small', secret: 'sk-small', limits: { tokens_per_day: limit } }]);
    const { gateway, provider } = world;
    const random = new Random(SEED + 1);
    const plans = Array.from({ length: LIMITED_CALLS }, (_, id) => plan(id, random));
    let refused = 0;
    let largest = 0;
    await inParallel(LIMITED_CALLS, async (n) => {
      const one = plans[n];
      if (!one) return;
      largest = Math.max(largest, promptOf(one) + tokensIn(textOf(one)));
      if ((await make(gateway, provider, one, 'sk-small')) === 429) refused += 1;
    });
    assert.ok(refused > 0, 'the limit is reached');
    assert.ok(provider.delivered > limit / 2, `${provider.delivered} delivered`);
    assert.ok(provider.delivered <= (limit + largest) * 1.1, `${provider.delivered} delivered of ${limit}`);
  });
});
