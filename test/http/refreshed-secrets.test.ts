import assert from 'node:assert/strict';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { configSchema } from '../../src/config/schema.ts';
import { completion } from '../support/chat-faults.ts';
import { eventually } from '../support/eventually.ts';
import { CLIENT_KEY, chat, type ProxyGateway, send, startProxyGateway } from '../support/proxy-gateway.ts';
import { json, type ScriptedProvider, startScriptedProvider } from '../support/scripted-provider.ts';

const FIRST = 'token-of-the-first-hour-0123456789';
const SECOND = 'token-of-the-second-hour-012345678';
const TEAM = 'team-of-the-file-0123456789';
const LATE = [
  { provider: 'waiting', model: 'm' },
  { provider: 'up', model: 'm' },
];

describe('secrets with refresh_seconds', () => {
  const stack = new AsyncDisposableStack();
  let folder: string;
  let provider: ScriptedProvider;
  let spare: ScriptedProvider;
  let gateway: ProxyGateway;
  const at = (name: string) => join(folder, name);
  const cat = (name: string) => ({ command: ['cat', at(name)], refresh_seconds: 0.05 });
  const ask = async (model = 'fast') => (await send(gateway, '/chat/completions', { body: chat({ model }) })).text();
  const lastHeaders = () => provider.requests.at(-1)?.headers ?? {};
  const ready = async () => {
    const answer = await fetch(new URL('/readyz', gateway.url));
    return { code: answer.status, ...JSON.parse(await answer.text()) };
  };
  const sees = (token: string) =>
    eventually(`the provider sees ${token}`, async () => {
      await ask();
      return lastHeaders().authorization === `Bearer ${token}` || undefined;
    });

  before(async () => {
    folder = await mkdtemp(join(tmpdir(), 'refreshed-secrets-'));
    stack.defer(() => rm(folder, { recursive: true }));
    await writeFile(at('token'), `${FIRST}\n`);
    await writeFile(at('team'), `${TEAM}\n`);
    provider = stack.use(await startScriptedProvider({ respond: () => json(completion('fine')) }));
    spare = stack.use(await startScriptedProvider({ respond: () => json(completion('spare')) }));
    const headers = { 'x-team': { file: at('team'), refresh_seconds: 0.05 }, 'x-plain': 'plain' };
    gateway = stack.use(
      await startProxyGateway({
        providers: {
          up: { url: provider.url, apiKey: cat('token'), headers },
          waiting: { url: spare.url, apiKey: cat('nowhere') },
        },
        models: { late: { kind: 'proxy', routes: LATE } },
        passthrough: [{ path: '/v1/batches', provider: 'waiting' }],
        key: { passthrough: ['/v1/batches'], admin: true },
      }),
    );
  });
  after(() => stack.disposeAsync());

  it('are used from the first call on, and refreshed without a reload', async () => {
    assert.match(await ask(), /fine/);
    const { authorization, 'x-team': team, 'x-plain': plain } = lastHeaders();
    assert.deepEqual([authorization, team, plain], [`Bearer ${FIRST}`, TEAM, 'plain']);
    await writeFile(at('token'), SECOND);
    await sees(SECOND);
    assert.equal(lastHeaders()['x-team'], TEAM);
  });

  it('keep a provider unused until the first value is read; /readyz and the log say why', async () => {
    assert.match(await ask('late'), /fine/);
    const passed = await send(gateway, '/batches', { body: {} });
    assert.match(await passed.text(), /waits for its credential/);
    assert.equal(passed.status, 502);
    assert.equal(spare.requests.length, 0);
    const { code, warnings } = await ready();
    assert.deepEqual(
      [code, warnings],
      [200, ['providers.waiting.api_key: the command ended with 1; there is none yet']],
    );
    assert.match(gateway.log.join(''), /"secret":"providers\.waiting\.api_key","reason":"the command ended with 1"/);
    assert.equal(gateway.log.join('').split('providers.waiting.api_key').length, 2, 'it is logged once');
    await writeFile(at('nowhere'), FIRST);
    await eventually('the provider is used', async () => /spare/.test(await ask('late')) || undefined);
    assert.equal((await ready()).warnings, undefined);
  });

  it('keep their last value while the source fails, with a warning in /readyz', async () => {
    await rm(at('token'));
    const warning = 'providers.up.api_key: the command ended with 1; the last one stays in use';
    const warned = async () => ((await ready()).warnings ?? []).includes(warning) || undefined;
    await eventually('the warning', warned);
    await ask();
    assert.equal(lastHeaders().authorization, `Bearer ${SECOND}`);
    await writeFile(at('token'), FIRST);
    await sees(FIRST);
    assert.equal(await warned(), undefined);
  });

  it('are masked where the provider quotes them, and never logged', async () => {
    provider.respond = ({ headers }) =>
      json({ error: { message: `wrong: ${headers.authorization} ${headers['x-team']}` } }, { status: 400 });
    const answer = await ask();
    assert.match(answer, /wrong/);
    for (const secret of [FIRST, SECOND, TEAM]) {
      assert.ok(!answer.includes(secret), answer);
      assert.ok(!gateway.log.join('').includes(secret));
    }
    provider.respond = () => json(completion('fine'));
  });

  it('do not block revoking keys while a reload waits for a slow source', async () => {
    const admin = (method: string, path: string, body = {}) =>
      fetch(new URL(path, gateway.url), {
        method,
        headers: { authorization: `Bearer ${CLIENT_KEY}`, 'content-type': 'application/json' },
        body: JSON.stringify(body),
      });
    const { secret } = JSON.parse(await (await admin('POST', '/admin/keys', { id: 'gone' })).text());
    const script = `until [ -e '${at('open')}' ]; do sleep 0.05; done; echo ${SECOND}`;
    const written = {
      up: { base_url: provider.url, api_key: { command: ['sh', '-c', script], timeout_seconds: 600 } },
    };
    const providers = configSchema.shape.providers.parse(written);
    const reloading = gateway.gateway.reload({ ...gateway.config, providers });
    assert.equal((await admin('DELETE', '/admin/keys/gone')).status, 200);
    const headers = { authorization: `Bearer ${secret}` };
    assert.equal((await fetch(`${gateway.url}/models`, { headers })).status, 401);
    await writeFile(at('open'), '');
    await reloading;
    await ask();
    assert.equal(lastHeaders().authorization, `Bearer ${SECOND}`);
  });

  it('from a new source are in use once the reload is done', async () => {
    await writeFile(at('other'), TEAM);
    const written = { up: { base_url: provider.url, api_key: { command: ['cat', at('other')] } } };
    const providers = configSchema.shape.providers.parse(written);
    await gateway.gateway.reload({ ...gateway.config, providers });
    await ask();
    assert.equal(lastHeaders().authorization, `Bearer ${TEAM}`);
    assert.equal(lastHeaders()['x-team'], undefined);
  });
});
