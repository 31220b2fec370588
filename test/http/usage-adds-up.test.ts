import assert from 'node:assert/strict';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Context } from 'mocha';
import { completion } from '../support/chat-faults.ts';
import { eventually } from '../support/eventually.ts';
import { CLIENT_KEY, chat, type ProxyGateway, send, startProxyGateway } from '../support/proxy-gateway.ts';
import { redisOrSkip } from '../support/redis.ts';
import {
  cutAfter,
  json,
  type Script,
  type ScriptedProvider,
  stallAfter,
  startScriptedProvider,
  status,
  turn,
} from '../support/scripted-provider.ts';
import { patience } from '../support/time-limit.ts';

/** So cheap that some calls cost less than a millionth, and odd, so that sums do not match by chance. */
const PRICE = { input: 0.0137, cached_input: 0.0029, output: 0.0611 };
const LIMITS = { tokens_per_day: 10_000_000, cost_per_day: 100, cost_per_month: 1000 };
const SMALL_KEY = 'sk-small-key-of-the-gateway';
/** The unit of cost limits, in `server.currency`. */
const MILLIONTH = 1e-6;
/** Limits may lag by less than one unit; usage is stored in billionths, rounded for each call. */
const BELOW = 1.05 * MILLIONTH;

interface Row {
  key: string;
  model: string;
  requests: number;
  errors: number;
  input_tokens: number;
  cached_tokens: number;
  output_tokens: number;
  reasoning_tokens: number;
  cost: number;
}

const sum = (rows: readonly Row[], of: (row: Row) => number) => rows.reduce((all, row) => all + of(row), 0);

/** Starts the store of each backend and returns its URL. */
const BACKENDS: Record<string, (test: Context, stack: AsyncDisposableStack) => Promise<string>> = {
  async SQLite(_, stack) {
    const folder = await mkdtemp(join(tmpdir(), 'usage-'));
    stack.defer(() => rm(folder, { recursive: true }));
    return `file:${folder}`;
  },
  Redis: async (test, stack) => stack.use(await redisOrSkip(test)).url,
};

for (const [backend, open] of Object.entries(BACKENDS)) {
  describe(`usage in ${backend}`, function () {
    // Redis has to start.
    this.timeout(patience(20));
    const stack = new AsyncDisposableStack();
    let provider: ScriptedProvider;
    let gateway: ProxyGateway;
    /** How many requests and errors should have been counted. */
    const expected = { requests: 0, errors: 0 };

    before(async function () {
      const storeUrl = await open(this, stack);
      provider = stack.use(await startScriptedProvider());
      const common = { kind: 'proxy', routes: [{ provider: 'one', model: 'm', price: PRICE }] };
      gateway = stack.use(
        await startProxyGateway({
          storeUrl,
          providers: { one: { url: provider.url } },
          key: { admin: true, team: 'all', limits: LIMITS },
          keys: [{ id: 'small', team: 'all', secret: SMALL_KEY, limits: { tokens_per_day: 40 } }],
          teams: { all: { limits: LIMITS } },
          models: {
            paid: {
              ...common,
              responses: 'native',
              apis: ['chat_completions', 'embeddings', 'responses', 'async'],
              max_completion_tokens: 1000,
            },
            kept: { ...common, apis: ['chat_completions'], cache: { ttl_seconds: 600 } },
            made: { ...common, apis: ['chat_completions', 'responses'] },
            run: { ...common, kind: 'research', research: { tools: [] }, max_completion_tokens: 1000 },
          },
        }),
      );
    });
    after(() => stack.disposeAsync());

    const counted = (prompt: number, output: number) => ({
      prompt_tokens: prompt,
      completion_tokens: output,
      total_tokens: prompt + output,
      prompt_tokens_details: { cached_tokens: Math.floor(prompt / 3) },
      completion_tokens_details: { reasoning_tokens: Math.floor(output / 4) },
    });
    /** Makes a call, and adds it to `expected`. */
    async function ask(path: string, body: object, how: { says: Script; failed?: boolean; secret?: string }) {
      provider.respond = () => how.says;
      const headers = { authorization: `Bearer ${how.secret ?? CLIENT_KEY}` };
      const answer = await send(gateway, path, { body, headers });
      const text = await answer.text().catch(() => '');
      expected.requests += 1;
      if (how.failed) expected.errors += 1;
      return { status: answer.status, text };
    }
    const read = async (path: string) => {
      const answer = await fetch(new URL(path, gateway.url), { headers: { authorization: `Bearer ${CLIENT_KEY}` } });
      return await answer.text();
    };
    const rows = async (): Promise<Row[]> => JSON.parse(await read('/admin/usage?group_by=key,model')).data;

    it('is the same in key and team limits, metrics and /admin/usage, to the token and the millionth', async () => {
      const answer = (prompt: number, output: number) => json(completion('Yes.', { usage: counted(prompt, output) }));
      const streamed = { stream: true, stream_options: { include_usage: true } };
      for (let n = 0; n < 2; n++) await ask('/chat/completions', chat({ model: 'kept' }), { says: answer(101, 13) });
      for (let n = 0; n < 30; n++) {
        const usage = { prompt_tokens: 5, total_tokens: 5 };
        const says = json({ object: 'list', data: [{ embedding: [1] }], usage });
        await ask('/embeddings', { model: 'paid', input: `word ${n}` }, { says });
      }
      const paid = (fields: object, says: Script, failed = false) =>
        ask('/chat/completions', chat({ model: 'paid', ...fields }), { says, failed });
      await paid({}, status(500), true);
      await paid({ stream: true }, cutAfter(3, { text: 'one two three four', usage: null }), true);
      await paid({ n: 2 }, answer(77, 31));
      await paid(streamed, turn({ text: 'It is so.', usage: counted(55, 9) }));
      await paid({ stream: true }, turn({ text: 'It is so, and nobody counted it.', usage: null }));
      await ask('/responses', { model: 'made', input: 'Why?' }, { says: turn({ text: 'So.', usage: counted(33, 8) }) });
      const task = JSON.parse((await ask('/async', chat({ model: 'paid' }), { says: answer(64, 7) })).text);
      const ended = () => read(`/v1/async/${task.id}`).then((text) => /COMPLETED/.test(text) || undefined);
      await eventually('the task has ended', ended);
      const question = { model: 'run', input: 'Why?', stream: false };
      const researched = await ask('/responses', question, { says: turn({ text: 'So.', usage: counted(211, 17) }) });
      assert.match(researched.text, /"status":"completed"/);

      const started = provider.waitForRequest();
      const stalls = { says: stallAfter(3, { text: 'one two three four', usage: null }) };
      const left = await ask('/responses', { ...question, background: true }, stalls);
      await started;
      await send(gateway, `/responses/${JSON.parse(left.text).id}/cancel`);

      const small = { says: answer(30, 15), secret: SMALL_KEY };
      await ask('/chat/completions', chat({ model: 'paid', max_tokens: 10 }), small);
      const refused = await ask('/chat/completions', chat({ model: 'paid', max_tokens: 10 }), {
        ...small,
        failed: true,
      });
      assert.equal(refused.status, 429, refused.text);
      // A refused call does not count: nothing was sent.
      expected.requests -= 1;
      expected.errors -= 1;

      const all = await eventually('everything has ended', async () => {
        const found = await rows();
        return sum(found, ({ requests }) => requests) >= expected.requests ? found : undefined;
      });
      assert.equal(
        sum(all, (row) => row.requests),
        expected.requests,
      );
      assert.equal(
        sum(all, (row) => row.errors),
        expected.errors,
      );
      await compareMetrics(all);
      await compareLimits(all);
    });

    async function compareMetrics(all: readonly Row[]): Promise<void> {
      const lines = (await read('/metrics')).split('\n');
      const metric = (name: string, labels: string[]) =>
        lines
          .filter((line) => line.startsWith(`${name}{`) && labels.every((label) => line.includes(label)))
          .reduce((total, line) => total + Number(line.split(' ').at(-1)), 0);
      for (const row of all) {
        const labels = [`key="${row.key}"`, `model="${row.model}"`];
        const of = (type: string) => metric('gateway_usage_tokens_total', [...labels, `type="${type}"`]);
        assert.deepEqual(
          [of('input'), of('cached'), of('output'), of('reasoning')],
          [row.input_tokens, row.cached_tokens, row.output_tokens, row.reasoning_tokens],
          JSON.stringify(row),
        );
        assert.equal(metric('gateway_usage_requests_total', labels), row.requests, JSON.stringify(row));
        const failed = metric('gateway_usage_requests_total', [...labels, 'result="failed"']);
        assert.equal(failed, row.errors, JSON.stringify(row));
        const cost = metric('gateway_usage_cost_total', labels);
        assert.ok(Math.abs(cost - row.cost) < MILLIONTH, `${cost} and ${row.cost} of ${row.model}`);
      }
    }

    async function compareLimits(all: readonly Row[]): Promise<void> {
      const { keys } = JSON.parse(await read('/admin/overview'));
      const used = (id: string, name: string) =>
        keys.find((key: { id: string }) => key.id === id).limits.find((limit: { name: string }) => limit.name === name)
          .used;
      const parts = [
        { id: 'client', prefix: '', rows: all.filter(({ key }) => key === 'client') },
        { id: 'client', prefix: 'team ', rows: all },
      ];
      for (const { id, prefix, rows: own } of parts) {
        const tokens = sum(own, (row) => row.input_tokens + row.output_tokens);
        const cost = sum(own, (row) => row.cost);
        assert.equal(used(id, `${prefix}tokens_per_day`), tokens, prefix);
        for (const name of ['cost_per_day', 'cost_per_month']) {
          const counted = used(id, prefix + name);
          assert.ok(Math.abs(counted - cost) <= BELOW, `${prefix}${name}: ${counted} instead of ${cost}`);
        }
      }
    }
  });
}
