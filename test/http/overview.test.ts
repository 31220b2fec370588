import assert from 'node:assert/strict';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { silentLogger } from '../../src/base/logger.ts';
import { configSchema } from '../../src/config/schema.ts';
import { overview } from '../../src/protocol/operating/overview.ts';
import { startGateway } from '../../src/server.ts';
import { assertRefused, send } from '../support/http-client.ts';
import { KEYS, until } from '../support/http-gateway.ts';
import { IDLE_LOAD } from '../support/idle-load.ts';
import { startScriptedProvider, status } from '../support/scripted-provider.ts';

const BOSS = { authorization: 'Bearer sk-boss-canary' };

describe('the metrics of the state', () => {
  it('show the circuit of each route, the use of each limit, and the build', async () => {
    await using provider = await startScriptedProvider({ respond: () => status(500) });
    const config = configSchema.parse({
      server: { port: 0 },
      store: { url: 'memory:' },
      providers: { bad: { base_url: provider.url, max_retries: 0 } },
      models: { fast: { kind: 'proxy', routes: [{ provider: 'bad', model: 'm' }] } },
      teams: { sales: { limits: { requests_per_minute: 100 } } },
      keys: [
        { id: 'ann', secret: KEYS.ann, team: 'sales', limits: { requests_per_minute: 10 } },
        { id: 'bob', secret: KEYS.bob },
      ],
    });
    await using gateway = await startGateway({ config, log: silentLogger, load: IDLE_LOAD });
    const body = { model: 'fast', messages: [{ role: 'user', content: 'hi' }] };
    const metrics = async () => (await send(gateway, 'GET /metrics', { key: null })).text;
    await send(gateway, 'POST /v1/chat/completions', { body, key: 'bob' });
    assert.match(await metrics(), /gateway_route_circuit_open\{provider="bad",model="m"\} 0/);
    for (let n = 0; n < 5; n++) await send(gateway, 'POST /v1/chat/completions', { body, key: 'bob' });
    await send(gateway, 'POST /v1/chat/completions', { body });
    const text = await metrics();
    assert.match(text, /gateway_route_circuit_open\{provider="bad",model="m"\} 1/);
    assert.match(text, /gateway_limit_used_ratio\{key="ann",limit="requests_per_minute"\} 0\.1/);
    assert.match(text, /gateway_limit_used_ratio\{key="ann",limit="team requests_per_minute"\} 0\.01/);
    assert.doesNotMatch(text, /gateway_limit_used_ratio\{key="bob"/);
    assert.match(text, /gateway_build_info\{version="[\d.]+",node="v\d+\.\d+\.\d+"\} 1/);
  });
});

describe('GET /admin/overview', () => {
  it('shows an admin instances, providers, budgets, keys and failures, and no secret', async () => {
    await using folder = await temporaryFolder();
    await using provider = await startScriptedProvider({ respond: () => status(500) });
    const config = configSchema.parse({
      server: { port: 0 },
      store: { url: 'memory:' },
      providers: { bad: { base_url: provider.url, api_key: 'sk-provider-canary', max_retries: 0 } },
      models: {
        deep: { kind: 'research', routes: [{ provider: 'bad', model: 'm' }] },
      },
      keys: [
        { id: 'boss', secret: 'sk-boss-canary', admin: true },
        {
          id: 'ann',
          secret: KEYS.ann,
          provider_keys: { bad: 'sk-own-canary' },
          limits: { requests_per_minute: 10, concurrent_runs: 2, tokens_per_day: 1000 },
        },
      ],
      tools: { web_search: { provider: 'local', folder: folder.path } },
    });
    await using gateway = await startGateway({ config, log: silentLogger, load: IDLE_LOAD });
    const read = async () => {
      const answer = await send(gateway, 'GET /admin/overview', { key: null, headers: BOSS });
      assert.equal(answer.status, 200, answer.text);
      assert.doesNotMatch(answer.text, /canary|sk-|[0-9a-f]{64}/);
      return overview.strict().parse(answer.json);
    };
    const fresh = await read();
    assert.equal(fresh.instances.length, 1);
    assert.equal(fresh.instances[0]?.id, fresh.instance);
    assert.deepEqual(fresh.providers[0]?.recent, { attempts: 0, failed: 0, p50_ms: 0, p95_ms: 0 });

    const body = { model: 'deep', input: 'canary question', stream: false };
    await send(gateway, 'POST /v1/responses', { body });
    await send(gateway, 'POST /v1/responses', { body: { ...body, model: 'nope-canary' } });
    await send(gateway, 'GET /v1/models', { key: null, headers: { authorization: 'Bearer sk-stranger' } });
    await send(gateway, 'GET /admin/overview');
    const minutes = (await read()).providers[0]?.minutes ?? [];
    assert.ok(minutes.reduce((sum, { failed }) => sum + failed, 0) > 0, 'the minute counts failed attempts');
    const after = await until(async () => {
      const now = await read();
      return now.failures.latest.some(({ where }) => where === 'run') ? now : undefined;
    });
    const shown = after.failures.latest.map(({ where, code, key, model }) => [where, code, key, model]);
    assert.ok(shown.some((row) => row.join() === 'run,upstream_error,ann,deep'));
    assert.ok(shown.some((row) => row.join() === 'request,model_not_found,ann,unknown'));
    assert.ok(shown.some(([where, code]) => where === 'provider' && code !== ''));
    assert.ok(
      !shown.some(([, code]) => code === 'invalid_api_key'),
      'failures with unknown keys do not displace the others',
    );
    assert.ok(
      !shown.some(([, code]) => code === 'not_found'),
      'nor does the console, which probes whether a key is admin',
    );
    assert.equal(after.providers[0]?.models[0]?.model, 'm');
    assert.ok((after.providers[0]?.recent.failed ?? 0) > 0);
    const [own] = after.instances;
    assert.deepEqual(own?.providers, [{ name: 'bad', ...after.providers[0]?.recent }]);
    assert.deepEqual(own?.failures, after.failures.by_code);
    assert.deepEqual(
      after.budgets.map(({ model, effort, default: isDefault, cost }) => [model, effort, isDefault, cost]),
      [
        ['deep', 'low', false, null],
        ['deep', 'medium', true, null],
        ['deep', 'high', false, null],
      ],
    );
    const ann = after.keys.find(({ id }) => id === 'ann');
    assert.deepEqual(
      ann?.limits.map(({ name, limit }) => [name, limit]),
      [
        ['requests_per_minute', 10],
        ['concurrent_runs', 2],
        ['tokens_per_day', 1000],
      ],
    );
    assert.equal(ann?.limits[0]?.used, 1, 'reading uses no limit');
    assert.deepEqual((await read()).keys, after.keys);
  });

  it('shows the first thousand of many keys', async () => {
    const others = Array.from({ length: 1500 }, (_, n) => ({ id: `key-${n}`, secret: `sk-of-${n}-many` }));
    const config = configSchema.parse({
      server: { port: 0 },
      store: { url: 'memory:' },
      providers: { demo: { builtin: 'demo' } },
      models: { plain: { kind: 'proxy', routes: [{ provider: 'demo', model: 'demo' }] } },
      keys: [{ id: 'boss', secret: 'sk-boss-canary', admin: true }, ...others],
    });
    await using gateway = await startGateway({ config, log: silentLogger, load: IDLE_LOAD });
    const answer = await send(gateway, 'GET /admin/overview', { key: null, headers: BOSS });
    assert.equal(overview.parse(answer.json).keys.length, 1000);
  });

  it('answers other keys with 404, and requests without a key with 401', async () => {
    await using folder = await temporaryFolder();
    const config = configSchema.parse({
      server: { port: 0 },
      store: { url: 'memory:' },
      providers: { demo: { builtin: 'demo' } },
      models: { deep: { kind: 'research', routes: [{ provider: 'demo', model: 'demo' }] } },
      keys: [{ id: 'ann', secret: KEYS.ann }],
      tools: { web_search: { provider: 'local', folder: folder.path } },
    });
    await using gateway = await startGateway({ config, log: silentLogger, load: IDLE_LOAD });
    assertRefused(await send(gateway, 'GET /admin/overview'), { status: 404, code: 'not_found' });
    assertRefused(await send(gateway, 'GET /admin/overview', { key: null }), { status: 401, code: 'missing_api_key' });
    assertRefused(await send(gateway, 'POST /admin/overview'), { status: 405, code: 'method_not_allowed' });
  });
});

async function temporaryFolder(): Promise<AsyncDisposable & { path: string }> {
  const path = await mkdtemp(join(tmpdir(), 'overview-'));
  return { path, [Symbol.asyncDispose]: () => rm(path, { recursive: true, force: true }) };
}
