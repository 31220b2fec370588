import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { mkdtemp, readFile, rename, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setImmediate } from 'node:timers/promises';
import { openAuditFile } from '../../src/audit/audit-file.ts';
import { silentLogger } from '../../src/base/logger.ts';
import { runCommandLine } from '../../src/cli/command-line.ts';
import { readEnvironment } from '../../src/config/environment.ts';
import { keyringOf } from '../../src/config/keyring.ts';
import { explanation } from '../../src/protocol/operating/explanation.ts';
import { assertRefused, rawExchange, send } from '../support/http-client.ts';
import { openGateway, type TestGateway, until } from '../support/http-gateway.ts';
import { RecordedTerminal } from '../unit/cli/recorded-terminal.ts';

const COMMAND_PARTS = {
  environment: readEnvironment({}),
  startGateway: () => Promise.reject(new Error('nothing is started here')),
  projectRoot: '.',
  version: '0',
};
const BOSS = { authorization: 'Bearer sk-boss' };
const ADMIN = { key: null, headers: BOSS };
const open = (options: Parameters<typeof openGateway>[0] = {}) =>
  openGateway({ ...options, keys: [{ id: 'boss', secret: 'sk-boss', admin: true }] });

async function createKey(gateway: TestGateway, body: object) {
  const { status, json, text } = await send(gateway, 'POST /admin/keys', { ...ADMIN, body });
  assert.equal(status, 200, text);
  return json as { id: string; secret: string; [name: string]: unknown };
}

const activeKey = ({ parts }: TestGateway) => keyringOf(parts.config.current()).byId.get('eve');

/** Audit records of the same millisecond have no order. */
async function nextMillisecond(): Promise<void> {
  for (const now = Date.now(); Date.now() === now; ) await setImmediate();
}

/** The status of a request with this secret. */
async function statusWith(gateway: { url: string }, secret: string, target = 'GET /v1/models'): Promise<number> {
  const headers = { authorization: `Bearer ${secret}` };
  return (await send(gateway, target, { key: null, headers })).status;
}

describe('stored API keys (/admin/keys)', () => {
  it('explain access to a model, also for keys of the file, without showing secrets', async () => {
    await using gateway = await open();
    const until = { expires_at: '2099-06-30T00:00:00Z', allow_from: ['10.0.0.0/8', '127.0.0.1'] };
    await createKey(gateway, { id: 'eve', models: ['gpt'], limits: { requests_per_minute: 90 }, ...until });
    for (const [id, allowed] of [
      ['eve', false],
      ['ann', true],
    ] as const) {
      const answer = await send(gateway, `GET /admin/keys/${id}/explain?model=deep`, ADMIN);
      const { allowed: may, routes, limits, kind, expires_at } = explanation.strict().parse(answer.json);
      assert.deepEqual([may, kind, routes.length > 0], [allowed, 'research', true]);
      assert.equal(limits.length, id === 'eve' ? 1 : limits.length);
      assert.equal(expires_at, id === 'eve' ? until.expires_at : null);
      assert.doesNotMatch(answer.text, /sk-/);
    }
    const refused = async (target: string, expected: Parameters<typeof assertRefused>[1]) =>
      assertRefused(await send(gateway, target, ADMIN), expected);
    await refused('GET /admin/keys/eve/explain', { status: 400, code: 'missing_parameter', param: 'model' });
    await refused('GET /admin/keys/eve/explain?model=nope', { status: 400, code: 'invalid_parameter', param: 'model' });
    await refused('GET /admin/keys/nobody/explain?model=deep', { status: 404, code: 'not_found' });
    const config = await send(gateway, 'GET /admin/config', ADMIN);
    assert.equal(config.status, 200);
    assert.match(config.text, /"deep"/);
    assert.doesNotMatch(config.text, /sk-/);
    for (const target of ['GET /admin/config', 'GET /admin/keys/ann/explain?model=deep'])
      assertRefused(await send(gateway, target), { status: 404, code: 'not_found' });
  });

  it('are created, used, updated, rotated and deleted; the secret is shown once', async () => {
    await using gateway = await open();
    const made = await createKey(gateway, {
      id: 'eve',
      user: 'family',
      models: ['deep'],
      limits: { requests_per_minute: 90 },
    });
    assert.equal(made.object, 'key');
    assert.match(made.secret, /^sk-[\w-]{43}$/);
    assert.equal(await statusWith(gateway, made.secret), 200);
    const list = await send(gateway, 'GET /admin/keys', ADMIN);
    assert.doesNotMatch(list.text, new RegExp(`${made.secret}|sk-|[0-9a-f]{64}`));
    const { data } = list.json as { data: { id: string; source: string; models?: string[] }[] };
    assert.deepEqual(
      data.filter(({ id }) => id === 'eve' || id === 'ann').map(({ id, source }) => `${id} ${source}`),
      ['ann file', 'eve store'],
    );

    const changed = await send(gateway, 'PATCH /admin/keys/eve', {
      ...ADMIN,
      body: { limits: { requests_per_minute: 2 }, models: null },
    });
    assert.equal(changed.status, 200, changed.text);
    const read = (await send(gateway, 'GET /admin/keys/eve', ADMIN)).json as Record<string, unknown>;
    assert.deepEqual([read.limits, read.models, read.user], [{ requests_per_minute: 2 }, undefined, 'family']);
    assert.deepEqual(read.used, [{ name: 'requests_per_minute', limit: 2, used: 0 }]);

    const rotate = async (body?: object) => {
      const { status, json, text } = await send(gateway, 'POST /admin/keys/eve/rotate', {
        ...ADMIN,
        ...(body && { body }),
      });
      assert.equal(status, 200, text);
      return json as { secret: string; rotated_until: number | null };
    };
    const second = await rotate({ overlap_seconds: 3600 });
    assert.ok(Number(second.rotated_until) > Date.now() / 1000 + 3000);
    assert.deepEqual([await statusWith(gateway, made.secret), await statusWith(gateway, second.secret)], [200, 200]);
    const third = await rotate();
    assert.equal(third.rotated_until, null);
    assert.deepEqual(
      await Promise.all([made, second, third].map(({ secret }) => statusWith(gateway, secret))),
      [401, 401, 200],
    );

    const removed = await send(gateway, 'DELETE /admin/keys/eve', ADMIN);
    assert.deepEqual(removed.json, { object: 'key', id: 'eve', deleted: true });
    assert.equal(await statusWith(gateway, third.secret), 401);
    assertRefused(await send(gateway, 'DELETE /admin/keys/eve', ADMIN), { status: 404, code: 'not_found' });
  });

  it('are refused with the invalid field named, and can be managed only by admins', async () => {
    await using gateway = await open();
    const nulls = { id: null, team: null, admin: null, limits: { cost_per_day: null, requests_per_minute: 5 } };
    const made = (await send(gateway, 'POST /admin/keys', { ...ADMIN, body: nulls })).json;
    assert.deepEqual([made.team, made.limits], [undefined, { requests_per_minute: 5 }], 'what is null is absent');

    const refused = async (body: object, param: string | null, message: RegExp, target = 'POST /admin/keys') => {
      const answer = await send(gateway, target, { ...ADMIN, body });
      assertRefused(answer, { status: 400, code: 'invalid_parameter', param });
      assert.match(answer.text, message);
    };
    await refused({ limits: { requests_per_min: 1 } }, 'limits.requests_per_min', /is not known/);
    await refused({ secret: 'sk-mine' }, 'secret', /is not known/);
    await refused({ models: ['dep'] }, 'models[0]', /unknown model .*deep/);
    await refused({ provider_keys: { demo: 'sk-own' } }, 'provider_keys', /set store\.encryption_keys/);
    await refused({ webhook: { url: 'https://example.com' } }, 'webhook', /set store\.encryption_keys/);
    await refused({ webhook: { url: 'https://a.test', secret: 5 } }, 'webhook.secret', /must be whsec_/);
    await refused({ team: 'nobody' }, 'team', /unknown team/);
    await refused({ id: 'ann' }, 'id', /there is a key ann already/);
    for (const id of ['.', '..']) await refused({ id }, 'id', /more than dots/);
    await refused({ expires_at: 'tomorrow' }, 'expires_at', /must be a time/);
    await refused({ allow_from: ['home'] }, 'allow_from[0]', /must be an IP address/);
    await refused({ overlap_seconds: -1 }, 'overlap_seconds', /./, 'POST /admin/keys/x/rotate');
    await refused({ overlap: 60 }, 'overlap', /is not known/, 'POST /admin/keys/x/rotate');
    await refused(JSON.parse('{"provider_keys": {"__proto__": "sk-own"}}'), 'provider_keys', /names no provider/);
    await refused({ limits: {} }, null, /stands in the configuration file/, 'PATCH /admin/keys/ann');
    await createKey(gateway, { id: 'eve' });
    await refused({ id: 'eve' }, 'id', /there is a key eve already/);
    for (const target of ['GET /admin/keys', 'POST /admin/keys', 'GET /admin/audit', 'GET /admin/usage']) {
      assertRefused(await send(gateway, target), { status: 404, code: 'not_found' });
      assertRefused(await send(gateway, target, { key: null }), { status: 401, code: 'missing_api_key' });
    }
    assertRefused(await send(gateway, 'PUT /admin/keys', ADMIN), { status: 405, code: 'method_not_allowed' });
  });

  it('are listed page by page', async () => {
    await using gateway = await open();
    for (const id of ['k1', 'k2', 'k3']) await createKey(gateway, { id });
    const ids = async (query: string) => {
      const { json } = await send(gateway, `GET /admin/keys?${query}`, ADMIN);
      const { data, has_more } = json as { data: { id: string; source: string }[]; has_more: boolean };
      return [data.flatMap(({ id, source }) => (source === 'store' ? [id] : [])).join(), has_more];
    };
    assert.deepEqual(await ids('limit=2'), ['k1,k2', true]);
    assert.deepEqual(await ids('limit=2&after=k2'), ['k3', false]);
    assertRefused(await send(gateway, 'GET /admin/keys?after=k9', ADMIN), {
      status: 400,
      code: 'invalid_parameter',
      param: 'after',
    });
  });

  it('survive a restart and are stored only as hashes', async () => {
    const folder = await mkdtemp(join(tmpdir(), 'keys-'));
    const store = { url: `file:${folder}` };
    let secret: string;
    {
      await using gateway = await open({ store });
      ({ secret } = await createKey(gateway, { id: 'eve' }));
    }
    await using gateway = await open({ store });
    await gateway.keys.start();
    assert.equal(await statusWith(gateway, secret), 200);
    const stored = await Promise.all(['runs.db', 'runs.db-wal'].map((name) => readFile(join(folder, name), 'latin1')));
    assert.ok(stored.join('').includes('"eve"'));
    assert.ok(!stored.join('').includes(secret), 'the secret is stored nowhere');
    await rm(folder, { recursive: true });
  });

  it('keep provider credentials and webhook secrets encrypted, and never show them', async () => {
    const folder = await mkdtemp(join(tmpdir(), 'keys-'));
    const store = (...encryption_keys: string[]) => ({ store: { url: `file:${folder}`, encryption_keys } });
    const [first, second] = ['the first key of the operator, long', 'the second key of the operator, long'];
    const provider_keys = { demo: 'sk-canary-of-eve-at-the-provider' };
    const webhook = { url: 'https://example.com/hook?token=canary', secret: 'canary-secret-0123456789' };
    const shown = { provider_keys: ['demo'], webhook: { url: 'https://example.com/hook' } };
    const read = async (gateway: TestGateway) => {
      const { text, json } = await send(gateway, 'GET /admin/keys/eve', ADMIN);
      assert.doesNotMatch(text, /canary/);
      return json as { provider_keys?: string[]; webhook?: object; problem?: string; tags?: string[] };
    };
    {
      await using gateway = await open(store(first));
      const { id, secret, ...made } = await createKey(gateway, { id: 'eve', provider_keys, webhook });
      assert.deepEqual([made.provider_keys, made.webhook], [shown.provider_keys, shown.webhook]);
      await send(gateway, 'PATCH /admin/keys/eve', { ...ADMIN, body: { tags: ['t'] } });
      assert.deepEqual(activeKey(gateway)?.provider_keys, provider_keys);
      assert.deepEqual(activeKey(gateway)?.webhook?.secret, [webhook.secret]);
      assertRefused(
        await send(gateway, 'PATCH /admin/keys/eve', {
          ...ADMIN,
          body: { provider_keys: { demo: `$${'{DEMO_KEY}'}` } },
        }),
        { status: 400, code: 'invalid_parameter', param: 'provider_keys.demo' },
      );
      assert.doesNotMatch(JSON.stringify(gateway.lines), /canary/);
    }
    for (const name of ['runs.db', 'runs.db-wal']) {
      assert.doesNotMatch(await readFile(join(folder, name), 'latin1').catch(() => ''), /canary/);
    }
    {
      await using gateway = await open(store(second, first));
      await gateway.keys.start();
      assert.deepEqual(activeKey(gateway)?.provider_keys, provider_keys);
    }
    await using gateway = await open(store(second));
    await gateway.keys.start();
    assert.equal(activeKey(gateway), undefined, 'a key whose credentials cannot be decrypted is not active');
    assert.match((await read(gateway)).problem ?? '', /encryption_keys/);
    assert.equal((await send(gateway, 'PATCH /admin/keys/eve', { ...ADMIN, body: { tags: [] } })).status, 400);
    assert.equal((await send(gateway, 'DELETE /admin/keys/eve', ADMIN)).status, 200);
    await rm(folder, { recursive: true });
  });

  it('stop working when the overlap of a rotation ends, and when they expire', async () => {
    await using gateway = await open();
    await gateway.keys.start();
    const made = await createKey(gateway, { id: 'eve' });
    await send(gateway, 'POST /admin/keys/eve/rotate', { ...ADMIN, body: { overlap_seconds: 1 } });
    assert.equal(await statusWith(gateway, made.secret), 200);
    await until(async () => (await statusWith(gateway, made.secret)) === 401 || undefined);
    const short = await createKey(gateway, { expires_at: new Date(Date.now() - 1000).toISOString() });
    assert.equal(await statusWith(gateway, short.secret), 401);
  });

  it('are created, listed, rotated and revoked from the command line', async () => {
    await using gateway = await open();
    const commanded = async (...args: string[]) => {
      const terminal = new RecordedTerminal();
      const all = ['keys', ...args, '--base-url', `${gateway.url}/v1`, '--api-key', 'sk-boss'];
      const code = await runCommandLine(all, { ...COMMAND_PARTS, terminal });
      return { code, ...terminal.written };
    };
    const made = await commanded('create', '--id', 'eve', '--user', 'family');
    assert.equal(made.code, 0, made.err);
    assert.equal(await statusWith(gateway, made.out.trim()), 200);
    assert.match((await commanded('list')).out, /^boss {2}\(file, user boss\)$[\s\S]*^eve {2}\(store, user family\)$/m);
    const rotated = await commanded('rotate', 'eve', '--overlap', '60');
    assert.deepEqual(
      [await statusWith(gateway, made.out.trim()), await statusWith(gateway, rotated.out.trim())],
      [200, 200],
    );
    assert.equal((await commanded('revoke', 'eve')).code, 0);
    assert.equal(await statusWith(gateway, rotated.out.trim()), 401);
    const again = await commanded('revoke', 'eve');
    assert.deepEqual([again.code, again.out], [5, '']);
    assert.match(again.err, /There is no key eve in the store/);
    assert.equal((await commanded('rotate', 'eve', '--overlap', 'soon')).code, 2);
  });

  it('have their changes and refusals in the audit log, newest first, without secrets', async () => {
    await using gateway = await open();
    const { id, secret } = await createKey(gateway, { id: `eve-${randomUUID()}` });
    await nextMillisecond();
    await send(gateway, `PATCH /admin/keys/${id}`, { ...ADMIN, body: { tags: ['t'] } });
    await nextMillisecond();
    await statusWith(gateway, 'sk-stranger-canary');
    const upgrade = 'GET /v1/responses HTTP/1.1\r\nHost: a\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n';
    await nextMillisecond();
    await rawExchange(gateway, `${upgrade}Authorization: Bearer sk-socket-canary\r\n\r\n`);
    await nextMillisecond();
    await send(gateway, `PATCH /admin/keys/${id}`, { ...ADMIN, body: { allow_from: ['10.0.0.0/8'] } });
    await nextMillisecond();
    assert.equal(await statusWith(gateway, secret), 401);
    await nextMillisecond();
    await send(gateway, `DELETE /admin/keys/${id}`, ADMIN);
    const page = async (query = '') =>
      (await send(gateway, `GET /admin/audit${query}`, ADMIN)).json as {
        data: { id: string; action: string; by?: string; target?: string; address?: string }[];
        has_more: boolean;
      };
    const { data } = await page();
    assert.deepEqual(
      data.map(({ action, by, target }) => [action, by, target]),
      [
        ['key.deleted', 'boss', id],
        ['key.refused', undefined, id],
        ['key.updated', 'boss', id],
        ['key.refused', undefined, undefined],
        ['key.refused', undefined, undefined],
        ['key.updated', 'boss', id],
        ['key.created', 'boss', id],
      ],
    );
    assert.ok(data.every(({ address }) => address === '127.0.0.1'));
    assert.doesNotMatch(JSON.stringify(data), new RegExp(`canary|${secret}`));
    const second = await page(`?limit=2&after=${data[4]?.id}`);
    assert.deepEqual(
      second.data.map(({ action }) => action),
      ['key.updated', 'key.created'],
    );
    assertRefused(await send(gateway, 'GET /admin/audit?after=x', ADMIN), {
      status: 400,
      code: 'invalid_parameter',
      param: 'after',
    });
    for (let n = 0; n < 80; n++) await statusWith(gateway, 'sk-stranger');
    const refusals = (await page('?limit=1000')).data.filter(({ action }) => action === 'key.refused');
    assert.ok(refusals.length <= 121, `${refusals.length} refusals are recorded in at most two minutes`);
  });
});

describe('the audit file', () => {
  it('is reopened after it was moved away', async () => {
    const folder = await mkdtemp(join(tmpdir(), 'audit-'));
    const target = join(folder, 'audit.jsonl');
    {
      await using file = openAuditFile(target, silentLogger);
      file.write('first\n');
      await until(async () => ((await readFile(target, 'utf8').catch(() => '')) === 'first\n' ? true : undefined));
      await rename(target, `${target}.1`);
      file.write('second\n');
    }
    assert.equal(await readFile(target, 'utf8'), 'second\n');
    await rm(folder, { recursive: true });
  });
});
