import assert from 'node:assert/strict';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { createClient } from '@redis/client';
import { isObject } from '../../src/base/json.ts';
import { acrossRestarts, type Story } from '../support/across-restarts.ts';
import { completion } from '../support/chat-faults.ts';
import { type GatewayProcess, gatewayFolder, startGatewayProcess } from '../support/gateway-process.ts';
import { until } from '../support/http-gateway.ts';
import { type RedisServer, redisOrSkip } from '../support/redis.ts';
import {
  hang,
  json,
  type ProviderRequest,
  type Script,
  type ScriptedProvider,
  stallAfter,
  startScriptedProvider,
  turn,
} from '../support/scripted-provider.ts';
import { patience } from '../support/time-limit.ts';

/** Daily limits outlive the process that counted them, whether it was killed or stopped. */

const ADMIN = { authorization: 'Bearer sk-limits-admin' };
const USAGE = { prompt_tokens: 700, completion_tokens: 50, total_tokens: 750 };
/** The keys: each story has a key and models of its own. */
const KEYS = ['counted', 'cut', 'open', 'compacted'] as const;
type Key = (typeof KEYS)[number];

interface Options {
  folder: string;
  provider: string;
  store: string;
}

function start({ folder, provider, store }: Options): Promise<GatewayProcess> {
  const models = KEYS.flatMap((key) => {
    const routes = [{ provider: 'one', model: key, price: { input: 10, output: 20 } }];
    const common = { routes, max_completion_tokens: 1000 };
    return [
      [`paid-${key}`, { ...common, kind: 'proxy', apis: ['chat_completions', 'async'] }],
      [`plain-${key}`, { ...common, kind: 'proxy', apis: ['responses'] }],
      [`run-${key}`, { ...common, kind: 'research', research: { tools: [] } }],
    ];
  });
  const limits = { tokens_per_day: 100_000, cost_per_day: 5, concurrent_runs: 3 };
  return startGatewayProcess(
    {
      server: { port: 0, shutdown_grace_seconds: 2 },
      store: { url: store },
      providers: { one: { base_url: provider } },
      models: Object.fromEntries(models),
      keys: [
        { id: 'admin', secret: 'sk-limits-admin', admin: true },
        ...KEYS.map((key) => ({ id: key, secret: `sk-limits-${key}`, limits })),
      ],
    },
    { folder },
  );
}

interface Scene {
  /** The name of the store. */
  name: string;
  provider: ScriptedProvider;
  /** Answers of the provider that replace the usual one, by key. */
  answers: Map<Key, () => Script>;
  /** Waits until the database has this usage: SQLite writes calls in batches, Redis counts at once. */
  written(key: Key, tokens: number): Promise<void>;
}

/** A client with one key, at one gateway after another, and what the key has used. */
class Account {
  readonly key: Key;
  gateway: GatewayProcess | undefined;

  constructor(key: Key) {
    this.key = key;
  }

  async get(path: string): Promise<unknown> {
    return await (await fetch(`${this.gateway?.url}${path}`, { headers: ADMIN })).json();
  }

  post(path: string, body: object): Promise<Response> {
    return fetch(`${this.gateway?.url}/v1${path}`, {
      method: 'POST',
      headers: { authorization: `Bearer sk-limits-${this.key}`, 'content-type': 'application/json' },
      body: JSON.stringify(body),
    });
  }

  /** The key's row of `GET /admin/usage`. */
  async usage(): Promise<{ requests: number; tokens: number }> {
    const usage = await this.get('/admin/usage?group_by=key');
    assert.ok(isObject(usage) && Array.isArray(usage.data));
    const none = { requests: 0, input_tokens: 0, output_tokens: 0 };
    const row = usage.data.find(({ key }) => key === this.key) ?? none;
    return { requests: row.requests, tokens: row.input_tokens + row.output_tokens };
  }

  async used(name = 'tokens_per_day'): Promise<number> {
    const overview = await this.get('/admin/overview');
    assert.ok(isObject(overview) && Array.isArray(overview.keys));
    const { limits } = overview.keys.find(({ id }) => id === this.key);
    return limits.find((limit: { name: string }) => limit.name === name).used;
  }

  async comesTo(expected: number): Promise<void> {
    await until(async () => ((await this.used()) === expected ? true : undefined)).catch(async () =>
      assert.fail(`${await this.used()} instead of ${expected}`),
    );
  }

  async chat(): Promise<void> {
    const answer = await this.post('/chat/completions', { model: `paid-${this.key}`, messages });
    assert.equal(answer.status, 200, await answer.text());
  }

  async wholeRun(): Promise<number> {
    const answer: unknown = await (
      await this.post('/responses', { model: `run-${this.key}`, input: 'Why?', stream: false })
    ).json();
    assert.ok(isObject(answer) && isObject(answer.usage) && answer.status === 'completed', JSON.stringify(answer));
    return Number(answer.usage.total_tokens);
  }
}

const messages = [{ role: 'user', content: 'Why do limits last?' }];

/** The tokens in the database of a folder, whatever its gateway has in memory. */
function storedTokens(folder: string, key: Key): number {
  const db = new DatabaseSync(join(folder, 'data', 'runs.db'), { readOnly: true });
  try {
    const sum = "SELECT sum(used) AS used FROM limit_windows WHERE name = 'tokens' AND key = ?";
    return Number(db.prepare(sum).get(key)?.used ?? 0);
  } finally {
    db.close();
  }
}

/** The gateway is killed twice, then stopped in order. */
const ENDS = ['kill', 'kill', 'terminate'] as const;

function counted({ name, written }: Scene): Story {
  const account = new Account('counted');
  let run = 0;
  return {
    lives: [
      {
        async reach(gateway) {
          account.gateway = gateway;
          for (let n = 0; n < 3; n++) await account.chat();
          await account.comesTo(3 * 750);
          await written('counted', 3 * 750);
          run = await account.wholeRun();
          // Other stores settle after the end: if the gateway died in between, the reservation would stay as long as a run may last.
          if (name !== 'SQLite') await account.comesTo(3 * 750 + run);
        },
      },
      {
        async reach(gateway) {
          account.gateway = gateway;
          await account.comesTo(3 * 750 + run);
          assert.ok((await account.used('cost_per_day')) > 0.02);
        },
      },
      {
        async reach(gateway) {
          account.gateway = gateway;
          await account.chat();
        },
      },
    ],
    async end(gateway) {
      account.gateway = gateway;
      await account.comesTo(4 * 750 + run);
    },
  };
}

function cut({ provider, answers }: Scene): Story {
  const account = new Account('cut');
  const requestCount = () => provider.requests.filter(({ body }) => body.model === 'cut').length;
  const submit = async (input: string) => {
    const answer = await account.post('/responses', { model: 'run-cut', input, background: true });
    const parsed: unknown = await answer.json();
    return { status: answer.status, id: isObject(parsed) ? String(parsed.id) : '' };
  };
  const ids: string[] = [];
  let sum = 0;
  answers.set('cut', hang);
  return {
    lives: [
      {
        async reach(gateway) {
          account.gateway = gateway;
          for (let n = 0; n < 3; n++) ids.push((await submit(`Why ${n}?`)).id);
          assert.equal((await submit('Once more?')).status, 429);
          await until(() => (requestCount() >= 3 ? true : undefined));
        },
      },
      {
        async reach(gateway) {
          account.gateway = gateway;
          assert.equal((await submit('Still?')).status, 429, 'its places are taken');
          await until(() => (requestCount() >= 6 ? true : undefined));
        },
        async meanwhile() {
          answers.delete('cut');
        },
      },
      {
        async reach(gateway) {
          account.gateway = gateway;
          for (const id of ids) {
            const ended = await until(async () => {
              const headers = { authorization: 'Bearer sk-limits-cut' };
              const run: unknown = await (await fetch(`${gateway.url}/v1/responses/${id}`, { headers })).json();
              return isObject(run) && run.status === 'completed' && isObject(run.usage) ? run.usage : undefined;
            });
            sum += Number(ended.total_tokens);
          }
          await account.comesTo(sum);
        },
      },
    ],
    async end(gateway) {
      account.gateway = gateway;
      await account.comesTo(sum);
    },
  };
}

function opened({ name, answers, written }: Scene): Story {
  const account = new Account('open');
  const text = 'It is written down as it goes. '.repeat(400);
  const delivered = Math.floor((lengthOfFirst(text) / 4) * 0.9);
  let usage = { requests: 0, tokens: 0 };
  answers.set('open', () => stallAfter(401, { text, usage: null }));
  return {
    lives: [
      {
        async reach(gateway) {
          account.gateway = gateway;
          const answer = await account.post('/chat/completions', { model: 'paid-open', messages, stream: true });
          await answer.body?.getReader().read();
          await written('open', delivered);
          await until(async () => (await account.usage()).tokens >= delivered || undefined);
        },
      },
      {
        async reach(gateway) {
          account.gateway = gateway;
          const used = await account.used();
          // Over Redis nobody knows at once that the gateway died: its reservation expires.
          if (name === 'Redis') assert.ok(used > 1000);
          else assert.ok(used >= delivered && used <= delivered * 1.5, `${used} of ${delivered}`);
          usage = await account.usage();
        },
      },
    ],
    async end() {
      assert.equal(usage.requests, 1);
      assert.ok(usage.tokens >= delivered && usage.tokens <= delivered * 1.5, `${usage.tokens} of ${delivered}`);
    },
  };
}

function compacted({ name, answers, written }: Scene): Story {
  const account = new Account('compacted');
  const input = 'It was said before, at length. '.repeat(400);
  const prompt = Math.floor((input.length / 4) * 0.8);
  let usage = { requests: 0, tokens: 0 };
  answers.set('compacted', () => stallAfter(1, { text: 'They said', usage: null }));
  return {
    lives: [
      {
        async reach(gateway) {
          account.gateway = gateway;
          void account.post('/responses/compact', { model: 'plain-compacted', input }).catch(() => {});
          await written('compacted', prompt);
          await until(async () => (await account.usage()).tokens >= prompt || undefined);
        },
      },
      {
        async reach(gateway) {
          account.gateway = gateway;
          const used = await account.used();
          if (name === 'Redis') assert.ok(used > prompt);
          else assert.ok(used >= prompt && used <= prompt * 1.5, `${used} of ${prompt}`);
          usage = await account.usage();
        },
      },
    ],
    async end() {
      assert.equal(usage.requests, 1);
      assert.ok(usage.tokens >= prompt && usage.tokens <= prompt * 1.5, `${usage.tokens} of ${prompt}`);
    },
  };
}

/** Characters of the first 400 pieces that the scripted provider makes of a text: its words. */
const lengthOfFirst = (text: string) => text.split(' ').slice(0, 400).join(' ').length;

function lasting(name: string, open: (folder: string) => Promise<string>): void {
  describe(`daily limits (${name})`, function () {
    // Gateways are killed and come back.
    this.timeout(patience(60));
    const stage = async (stack: AsyncDisposableStack) => {
      const answers: Scene['answers'] = new Map();
      const usual = ({ body }: ProviderRequest) =>
        body.stream
          ? turn({ text: 'Because they are written down.', usage: USAGE })
          : json(completion('Yes.', { usage: USAGE }));
      const provider = stack.use(
        await startScriptedProvider({
          respond: (request) =>
            answers.get(KEYS.find((key) => key === request.body.model) ?? 'counted')?.() ?? usual(request),
        }),
      );
      const folder = stack.use(await gatewayFolder()).path;
      const options = { folder, provider: provider.url, store: await open(folder) };
      const written = async (key: Key, tokens: number) => {
        if (options.store.startsWith('file:')) await until(() => storedTokens(folder, key) >= tokens || undefined);
      };
      return { scene: { name, provider, answers, written }, start: () => start(options), ends: ENDS };
    };
    acrossRestarts<Scene>(stage, {
      'keep their counts after kill -9 (runs exactly, calls up to the last batch) and after an orderly stop': counted,
      'count a run once that kill -9 interrupted, and hold its slot meanwhile': cut,
      'keep what open calls had used when the gateway died, but not what they had reserved': opened,
      'keep the prompt of a compaction that was under way when the gateway died': compacted,
    });
  });
}

lasting('SQLite', async (folder) => `file:${join(folder, 'data')}`);

describe('daily limits over Redis', function () {
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
    return server.url;
  });
});
