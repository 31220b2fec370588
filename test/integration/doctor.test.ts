import assert from 'node:assert/strict';
import { once } from 'node:events';
import { mkdtemp, readdir, rm, writeFile } from 'node:fs/promises';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { silentLogger } from '../../src/base/logger.ts';
import { runCommandLine } from '../../src/cli/command-line.ts';
import { readEnvironment } from '../../src/config/environment.ts';
import { openSqliteStore } from '../../src/store/sqlite/open.ts';
import { startProxyGateway } from '../support/proxy-gateway.ts';
import { redisOrSkip } from '../support/redis.ts';
import { refusedUrl } from '../support/scripted-provider.ts';
import { RecordedTerminal } from '../unit/cli/recorded-terminal.ts';

const SECRET = 'sk-canary-of-the-operator';
const HEADER = 'canary-in-a-header';
/** This does not look like a secret: only code that knows the configuration can mask it. */
const CLIENTS = 'canary.of.a.client';

describe('research-gateway doctor', () => {
  let folder: string;
  const stack = new AsyncDisposableStack();
  beforeEach(async () => {
    folder = await mkdtemp(join(tmpdir(), 'doctor-'));
  });
  afterEach(() => rm(folder, { recursive: true, force: true }));
  after(() => stack.disposeAsync());

  /** A provider that answers `GET /models` with this status, and a body made from the credential that it got. */
  async function provider(status: number, body: (credential: string) => string): Promise<string> {
    const server = createServer((req, res) => {
      const { authorization = '' } = req.headers;
      res.writeHead(req.url === '/v1/models' ? status : 500, { 'content-type': 'application/json' });
      res.end(body(authorization.replace('Bearer ', '')));
    }).listen(0, '127.0.0.1');
    await once(server, 'listening');
    stack.defer(() => void server.close());
    return `http://127.0.0.1:${(server.address() as AddressInfo).port}/v1`;
  }
  const listing = () => provider(200, () => '{"object":"list","data":[{"id":"a"},{"id":"b"}]}');

  interface Setup {
    url?: string;
    provider?: object;
    store?: object;
    server?: object;
    files?: object;
    logging?: object;
  }

  async function run(setup: Setup = {}) {
    const base_url = setup.url ?? (await listing());
    const config = {
      server: { port: 0, ...setup.server },
      store: { url: `file:${join(folder, 'data')}`, ...setup.store },
      ...(setup.files && { files: setup.files }),
      ...(setup.logging && { logging: setup.logging }),
      providers: { up: { base_url, api_key: SECRET, headers: { 'x-token': HEADER }, ...setup.provider } },
      models: { m: { kind: 'proxy', routes: [{ provider: 'up', model: 'm' }] } },
      keys: [{ id: 'k', secret: CLIENTS }],
    };
    const file = join(folder, 'gateway.yaml');
    await writeFile(file, JSON.stringify(config));
    return await doctor(file);
  }

  async function doctor(file: string) {
    const terminal = new RecordedTerminal();
    const code = await runCommandLine(['doctor', '--config', file], {
      environment: readEnvironment({}),
      terminal,
      startGateway: () => Promise.reject(new Error('not to be started')),
      projectRoot: folder,
      version: '0',
    });
    const { out, err } = terminal.written;
    assert.equal(err, '');
    assert.doesNotMatch(out, /canary/);
    const line = (about: string) => out.split('\n').filter((found) => found.slice(6).startsWith(`${about}: `));
    return { code, out, line };
  }

  it('reports that nothing is missing, and changes nothing', async () => {
    const { code, out } = await run();
    assert.equal(code, 0, out);
    assert.match(out, /^ok {4}Node: \d+\.\d+\.\d+$/m);
    assert.match(out, /^ok {4}configuration: .*gateway\.yaml is valid: 1 provider, 1 model, 1 key$/m);
    assert.match(out, /^ok {4}store: .*data is new$/m);
    assert.match(out, /^(?:ok {4}|note {2})disk: \d+\.\d GB are free for /m);
    assert.match(out, /^ok {4}provider up: 127\.0\.0\.1:\d+ answers and lists 2 models$/m);
    assert.match(out, /^ok {4}port: any$/m);
    assert.match(out, /\nNothing is missing\.\n$/);
    assert.deepEqual(await readdir(folder), ['gateway.yaml']);
  });

  it('reports each fault of the configuration on a line of its own', async () => {
    const file = join(folder, 'gateway.yaml');
    await writeFile(file, 'providers: {}\nmodels: { m: { kind: prox, routes: [] } }\nkeys: [{ id: k }]\n');
    const { code, line } = await doctor(file);
    assert.equal(code, 1);
    assert.ok(line('configuration').length >= 2);
    assert.ok(line('configuration').every((found) => /^wrong .*gateway\.yaml:\d+:\d+ /.test(found)));
    assert.match((await doctor(join(folder, 'none.yaml'))).out, /^wrong configuration: .*there is no such file/m);
  });

  const refuse = (credential: string) =>
    JSON.stringify({ error: { message: `Incorrect API key ${credential}, ${CLIENTS}` } });
  const answers: [string, () => Promise<string>, object, string, RegExp, number][] = [
    [
      'that refuses its credential',
      () => provider(401, refuse),
      {},
      'wrong',
      /it refuses the credential.*Fix: set providers\.up\.api_key/,
      1,
    ],
    [
      'that refuses its credential with a 400',
      () => provider(400, refuse),
      {},
      'wrong',
      /it refuses the credential/,
      1,
    ],
    [
      'that requires a credential',
      () => provider(401, refuse),
      { api_key: undefined },
      'wrong',
      /a credential is missing/,
      1,
    ],
    ['that does not answer', refusedUrl, {}, 'wrong', /does not answer.*Fix: see providers\.up\.base_url/, 1],
    ['that fails', () => provider(503, () => '{}'), {}, 'wrong', /HTTP status 503/, 1],
    ['that lists no models', () => provider(404, () => '{}'), {}, 'note', /lists no models.*`probe up`/, 0],
    [
      'that answers with something else',
      () => provider(200, () => '<html>'),
      {},
      'note',
      /something else than a list/,
      0,
    ],
  ];
  for (const [what, start, fields, state, detail, exit] of answers) {
    it(`reports on a provider ${what}`, async () => {
      const { code, line } = await run({ url: await start(), provider: fields });
      const [found = ''] = line('provider up');
      assert.equal(found.slice(0, 5).trim(), state, found);
      assert.match(found, detail);
      assert.equal(code, exit);
    });
  }

  it('reports a credential that cannot be read', async () => {
    const { code, line } = await run({ provider: { api_key: { file: join(folder, 'none') } } });
    assert.equal(code, 1);
    assert.match(line('credential').join(), /^wrong .*up.*Fix: /);
  });

  it('reports whether a gateway uses the store', async () => {
    const store = openedStore(join(folder, 'data'));
    const used = await run().finally(() => store.close());
    assert.match(used.line('store').join(), /^ok {4}store: a gateway uses .*data$/);
    assert.match((await run()).line('store').join(), /^ok {4}store: .*data can be used$/);
  });

  it('reports why the store cannot be used', async () => {
    const data = join(folder, 'data');
    await writeFile(data, '');
    const withFile = await run();
    assert.deepEqual([withFile.code, withFile.line('store').length], [1, 1]);
    assert.match(withFile.line('store').join(), /^wrong store: .*data is no folder\. Fix: set store\.url/);
    await rm(data);
    await openedStore(data).close();
    edit(join(data, 'runs.db'), 'PRAGMA user_version = 99');
    assert.match((await run()).line('store').join(), /^wrong .*version 99.*Fix: start the gateway that wrote it/);
    await writeFile(join(data, 'runs.db'), 'no database'.repeat(1000));
    const damaged = await run();
    assert.equal(damaged.code, 1);
    assert.match(damaged.line('store').join(), /^wrong .*file is not a database.*Fix: .*store restore/);
    const memory = await run({ store: { url: 'memory:' } });
    assert.deepEqual([memory.code, memory.line('store').join().slice(0, 4)], [0, 'note']);
    await writeFile(join(folder, 'taken'), '');
    const files = await run({ store: { url: 'memory:' }, files: { url: `file:${join(folder, 'taken', 'files')}` } });
    assert.deepEqual([files.code, files.line('files').length], [1, 1]);
    const audit = await run({ logging: { audit: join(folder, 'nowhere', 'audit.jsonl') } });
    assert.equal(audit.code, 1);
    assert.match(audit.line('audit').join(), /^wrong audit: .*nowhere does not exist\. Fix: .*logging\.audit/);
    assert.deepEqual((await run({ logging: { audit: join(folder, 'audit.jsonl') } })).line('audit'), []);
    const bucket = { url: 's3://files', access_key_id: 'id', secret_access_key: 'canary-secret' };
    const stored = await run({ store: { url: 'memory:' }, files: bucket });
    assert.deepEqual([stored.code, stored.line('files'), stored.line('disk')], [0, [], []]);
  });

  it('reports who uses a port', async () => {
    const other = createServer((_, res) => res.end('hello')).listen(0, '127.0.0.1');
    await once(other, 'listening');
    const { port } = other.address() as AddressInfo;
    const taken = await run({ server: { port } });
    other.close();
    assert.equal(taken.code, 1);
    assert.match(taken.line('port').join(), /^wrong port: 127\.0\.0\.1:\d+ is in use\. Fix: .*server\.port$/);
    await using gateway = await startProxyGateway({ providers: { up: { url: 'http://127.0.0.1:9/v1' } } });
    const running = await run({ server: { port: Number(new URL(gateway.url).port), admin_port: 0 } });
    assert.match(running.line('port').join(), /^ok {4}port: a gateway runs at /);
    assert.match(running.line('admin port').join(), /^ok/);
    assert.equal(running.code, 0);
    const foreign = await run({ server: { host: '203.0.113.7', port: 8080 } });
    assert.match(foreign.line('port').join(), /^wrong .*EADDRNOTAVAIL.*HOST/);
  });

  it('reports whether Redis can be used', async function () {
    await using redis = await redisOrSkip(this);
    const up = await run({ store: { url: redis.url } });
    assert.equal(up.code, 0, up.out);
    assert.match(up.line('store').join(), /^ok {4}store: Redis, 0 runs queued/);
    assert.equal(up.line('disk').length, 1, 'the folder of files is checked, too');
    await redis.kill();
    const url = redis.url.replace('redis://', 'redis://:canary-password@');
    const away = await run({ store: { url } });
    assert.equal(away.code, 1);
    assert.match(away.line('store').join(), /^wrong .*Fix: start Redis/);
  });
});

function openedStore(folder: string) {
  return openSqliteStore(`file:${folder}`, { sync: 'normal', log: silentLogger });
}

function edit(path: string, sql: string): void {
  using db = new DatabaseSync(path);
  db.exec(sql);
}
