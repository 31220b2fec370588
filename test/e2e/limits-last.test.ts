import assert from 'node:assert/strict';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { createClient } from '@redis/client';
import { isObject } from '../../src/base/json.ts';
import { completion } from '../support/chat-faults.ts';
import { type GatewayProcess, gatewayFolder, startGatewayProcess } from '../support/gateway-process.ts';
import { until } from '../support/http-gateway.ts';
import { type RedisServer, redisOrSkip } from '../support/redis.ts';
import {
  hang,
  json,
  type ScriptedProvider,
  stallAfter,
  startScriptedProvider,
  turn,
} from '../support/scripted-provider.ts';
import { patience } from '../support/time-limit.ts';

/** Limits of a day outlive the process that counted them, killed or stopped. */

const KEY = 'sk-limits-last';
const HEADERS = { authorization: `Bearer ${KEY}`, 'content-type': 'application/json' };
const USAGE = { prompt_tokens: 700, completion_tokens: 50, total_tokens: 750 };

interface Options {
  folder: string;
  provider: string;
  store: string;
  workers?: number;
}

function start({ folder, provider, store, workers = 1 }: Options): Promise<GatewayProcess> {
  const routes = [{ provider: 'one', model: 'm', price: { input: 10, output: 20 } }];
  return startGatewayProcess(
    {
      server: { port: 0, ...(workers > 1 && { workers }), shutdown_grace_seconds: 2 },
      store: { url: store },
      providers: { one: { base_url: provider } },
      models: {
        paid: { kind: 'proxy', apis: ['chat_completions', 'async'], routes, max_completion_tokens: 1000 },
        run: { kind: 'research', routes, research: { tools: [] }, max_completion_tokens: 1000 },
      },
      keys: [
        {
          id: 'ann',
          secret: KEY,
          admin: true,
          limits: { tokens_per_day: 100_000, cost_per_day: 5, concurrent_runs: 3 },
        },
      ],
    },
    { folder },
  );
}

/** What `GET /admin/usage` tells. */
async function usedByKey(gateway: GatewayProcess): Promise<{ requests: number; tokens: number }> {
  const usage: unknown = await (await fetch(`${gateway.url}/admin/usage?group_by=key`, { headers: HEADERS })).json();
  assert.ok(isObject(usage) && Array.isArray(usage.data));
  const [row = { requests: 0, input_tokens: 0, output_tokens: 0 }] = usage.data;
  return { requests: row.requests, tokens: row.input_tokens + row.output_tokens };
}

async function used(gateway: GatewayProcess, name = 'tokens_per_day'): Promise<number> {
  const overview: unknown = await (await fetch(`${gateway.url}/admin/overview`, { headers: HEADERS })).json();
  assert.ok(isObject(overview) && Array.isArray(overview.keys));
  return overview.keys[0].limits.find((limit: { name: string }) => limit.name === name).used;
}

const comesTo = async (gateway: GatewayProcess, expected: number) =>
  await until(async () => ((await used(gateway)) === expected ? true : undefined)).catch(async () =>
    assert.fail(`${await used(gateway)} instead of ${expected}`),
  );

const post = (gateway: GatewayProcess, path: string, body: object) =>
  fetch(`${gateway.url}/v1${path}`, { method: 'POST', headers: HEADERS, body: JSON.stringify(body) });

const messages = [{ role: 'user', content: 'Why do limits last?' }];

async function chat(gateway: GatewayProcess): Promise<void> {
  const answer = await post(gateway, '/chat/completions', { model: 'paid', messages });
  assert.equal(answer.status, 200, await answer.text());
}

async function wholeRun(gateway: GatewayProcess): Promise<number> {
  const answer: unknown = await (
    await post(gateway, '/responses', { model: 'run', input: 'Why?', stream: false })
  ).json();
  assert.ok(isObject(answer) && isObject(answer.usage) && answer.status === 'completed', JSON.stringify(answer));
  return Number(answer.usage.total_tokens);
}

/** What stands in the database of a folder, whatever its gateway has in memory. */
function storedTokens(folder: string): number {
  const db = new DatabaseSync(join(folder, 'data', 'runs.db'), { readOnly: true });
  try {
    return Number(db.prepare("SELECT sum(used) AS used FROM limit_windows WHERE name = 'tokens'").get()?.used ?? 0);
  } finally {
    db.close();
  }
}

/** `cut`: also of what was under way when its gateway died. */
function lasting(
  name: string,
  open: (folder: string) => Promise<{ store: string; workers?: number }>,
  { cut = true } = {},
): void {
  describe(`limits of a day (${name})`, function () {
    // Gateways are killed and come back.
    this.timeout(patience(60));
    const stack = new AsyncDisposableStack();
    let provider: ScriptedProvider;
    let folder: string;
    let options: Options;
    let gateway: GatewayProcess;
    /** Of a gateway that has ended. */
    const restart = async () => {
      gateway = await start(options);
    };
    before(async () => {
      provider = stack.use(await startScriptedProvider());
      folder = stack.use(await gatewayFolder()).path;
      options = { folder, provider: provider.url, ...(await open(folder)) };
      answering(provider);
      await restart();
      stack.defer(() => gateway.kill());
    });
    after(() => stack.disposeAsync());
    /** Calls are written in batches; Redis counts at once. */
    const written = async (tokens: number) => {
      if (options.store.startsWith('file:')) await until(() => storedTokens(folder) >= tokens || undefined);
    };

    it('are counted on after kill -9, runs to the last and calls to the last batch, and after a stop in order', async () => {
      for (let n = 0; n < 3; n++) await chat(gateway);
      await comesTo(gateway, 3 * 750);
      await written(3 * 750);
      const run = await wholeRun(gateway);
      // Elsewhere the settling follows the end: the reservation of a run that died between stays as long as a run may last.
      if (name !== 'SQLite') await comesTo(gateway, 3 * 750 + run);
      await gateway.kill();
      await restart();
      await comesTo(gateway, 3 * 750 + run);
      assert.ok((await used(gateway, 'cost_per_day')) > 0.02);
      await chat(gateway);
      await gateway.terminate();
      await restart();
      await comesTo(gateway, 4 * 750 + run);
    });

    if (!cut) return;

    it('count a run once that was cut by kill -9 and went on, and hold its place meanwhile', async () => {
      const before = await used(gateway);
      const asked = provider.requests.length;
      provider.respond = () => hang();
      const submit = async (input: string) => {
        const answer = await post(gateway, '/responses', { model: 'run', input, background: true });
        const parsed: unknown = await answer.json();
        return { status: answer.status, id: isObject(parsed) ? String(parsed.id) : '' };
      };
      const ids: string[] = [];
      for (let n = 0; n < 3; n++) ids.push((await submit(`Why ${n}?`)).id);
      assert.equal((await submit('Once more?')).status, 429);
      await until(() => (provider.requests.length >= asked + 3 ? true : undefined));
      await gateway.kill();
      await restart();
      assert.equal((await submit('Still?')).status, 429, 'its places are taken');
      await until(() => (provider.requests.length >= asked + 6 ? true : undefined));
      await gateway.kill();
      answering(provider);
      await restart();
      let sum = before;
      for (const id of ids) {
        const ended = await until(async () => {
          const run: unknown = await (await fetch(`${gateway.url}/v1/responses/${id}`, { headers: HEADERS })).json();
          return isObject(run) && run.status === 'completed' && isObject(run.usage) ? run.usage : undefined;
        });
        sum += Number(ended.total_tokens);
      }
      await comesTo(gateway, sum);
      await gateway.kill();
      await restart();
      await comesTo(gateway, sum);
    });

    // The last: over Redis, what it leaves is given back by its time.
    it('keep what open calls had used when they died, and nothing of what they had reserved', async () => {
      const before = await used(gateway);
      const usedBefore = await usedByKey(gateway);
      const text = 'It is written down as it goes. '.repeat(400);
      provider.respond = () => stallAfter(401, { text, usage: null });
      const delivered = Math.floor((lengthOfFirst(text) / 4) * 0.9);
      const answer = await post(gateway, '/chat/completions', { model: 'paid', messages, stream: true });
      await answer.body?.getReader().read();
      await written(before + delivered);
      await until(async () => (await usedByKey(gateway)).tokens >= usedBefore.tokens + delivered || undefined);
      await gateway.kill();
      await restart();
      const counted = (await used(gateway)) - before;
      // Over Redis others cannot know at once that it died: what it had reserved is given back by its time.
      if (name === 'Redis') assert.ok(counted > 1000);
      else assert.ok(counted >= delivered && counted <= delivered * 1.5, `${counted} of ${delivered}`);
      const usage = await usedByKey(gateway);
      const tokens = usage.tokens - usedBefore.tokens;
      assert.equal(usage.requests, usedBefore.requests + 1);
      assert.ok(tokens >= delivered && tokens <= delivered * 1.5, `${tokens} of ${delivered}`);
    });
  });
}

function answering(provider: ScriptedProvider): void {
  provider.respond = ({ body }) =>
    body.stream
      ? turn({ text: 'Because they are written down.', usage: USAGE })
      : json(completion('Yes.', { usage: USAGE }));
}

/** Characters of the first 400 pieces that the scripted provider makes of a text: its words. */
const lengthOfFirst = (text: string) => text.split(' ').slice(0, 400).join(' ').length;

lasting('SQLite', async (folder) => ({ store: `file:${join(folder, 'data')}` }));
// What was under way is held by the same store, in the first process: `limits.test.ts` in test/contract asks it from others.
lasting('SQLite, shared by workers', async (folder) => ({ store: `file:${join(folder, 'data')}`, workers: 2 }), {
  cut: false,
});

describe('limits over Redis', function () {
  // Gateways are killed and come back.
  this.timeout(patience(60));
  let server: RedisServer;
  before(async function () {
    server = await redisOrSkip(this);
  });
  after(() => server?.[Symbol.asyncDispose]());
  lasting('Redis', async () => {
    const client = await createClient({ url: server.url }).connect();
    await client.flushAll();
    await client.close();
    return { store: server.url };
  });
});
