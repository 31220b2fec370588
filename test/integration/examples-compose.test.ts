import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { existsSync } from 'node:fs';
import { mkdtempDisposable, readFile, writeFile } from 'node:fs/promises';
import type { IncomingMessage } from 'node:http';
import { request } from 'node:https';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { fileURLToPath } from 'node:url';
import { parse } from 'yaml';
import { z } from 'zod';
import { EXAMPLE_KEY, loadExample, readExample, startExample, variablesReadBy } from '../support/example-gateways.ts';
import { freePort } from '../support/free-port.ts';
import { type RedisServer, redisOrSkip } from '../support/redis.ts';
import { mayCallTools, startScriptedProvider, turn } from '../support/scripted-provider.ts';
import { Spawned } from '../support/spawned.ts';
import { patience } from '../support/time-limit.ts';

const FOLDER = fileURLToPath(new URL('../../docs/examples/compose', import.meta.url));
const CONF = readExample('compose/nginx.conf');

const healthcheck = z.object({ test: z.array(z.string()), timeout: z.string() }).partial({ timeout: true });
const service = z.object({
  image: z.string(),
  build: z.string().optional(),
  environment: z.record(z.string(), z.string()).default({}),
  volumes: z.array(z.string()).default([]),
  networks: z.array(z.string()).min(1),
  depends_on: z.record(z.string(), z.object({ condition: z.enum(['service_started', 'service_healthy']) })).default({}),
  command: z.string().optional(),
  stop_grace_period: z.string().optional(),
  healthcheck: healthcheck.optional(),
});
const composeFile = z.object({
  services: z.record(z.string(), service),
  volumes: z.record(z.string(), z.unknown()),
  networks: z.record(z.string(), z.unknown()),
});

const COMPOSE = composeFile.parse(parse(readExample('compose/compose.yaml'), { merge: true }));
const GATEWAYS = Object.entries(COMPOSE.services).filter(([name]) => name.startsWith('gateway-'));

describe('docs/examples/compose', () => {
  it('refers only to services, networks, volumes and files that exist', () => {
    const { services, volumes, networks } = COMPOSE;
    assert.deepEqual(Object.keys(services), ['gateway-1', 'gateway-2', 'gateway-3', 'nginx', 'redis']);
    for (const [name, of] of Object.entries(services)) {
      for (const network of of.networks) assert.ok(network in networks, `${name}: ${network}`);
      for (const other of Object.keys(of.depends_on)) assert.ok(other in services, `${name}: ${other}`);
      for (const volume of of.volumes) {
        const [source = ''] = volume.split(':');
        // The certificate is the operator's own.
        if (source === './tls') continue;
        const isThere = source.startsWith('.') ? existsSync(resolve(FOLDER, source)) : source in volumes;
        assert.ok(isThere, `${name}: ${source}`);
      }
      if (of.build !== undefined) assert.ok(existsSync(resolve(FOLDER, of.build, 'Dockerfile')));
    }
    for (const { condition, name } of Object.values(services).flatMap(({ depends_on }) =>
      Object.entries(depends_on).map(([name, { condition }]) => ({ name, condition })),
    )) {
      assert.ok(condition === 'service_started' || services[name]?.healthcheck, `${name} has a health check`);
    }
  });

  it('sets only variables that the configuration reads, and gives the gateways time to stop', async () => {
    const read = variablesReadBy('gateway.yaml');
    const config = await loadExample('gateway.yaml');
    assert.equal(config.store.url, 'redis://redis:6379/0');
    for (const [name, of] of GATEWAYS) {
      for (const variable of Object.keys(of.environment)) assert.ok(read.has(variable), `${name}: ${variable}`);
      assert.equal(of.environment.REDIS_URL, config.store.url);
      const mounted = of.volumes.find((volume) => volume.startsWith('../gateway.yaml:'));
      assert.equal(mounted?.split(':')[1], of.environment.GATEWAY_CONFIG);
      assert.ok(Number.parseInt(of.stop_grace_period ?? '', 10) * 1000 > config.server.shutdownGraceMs + 2000);
      assert.match(of.healthcheck?.test.join(' ') ?? '', new RegExp(`:${config.server.admin_port}/readyz`));
    }
    const redis = COMPOSE.services.redis?.command ?? '';
    assert.match(redis, /--appendonly yes/);
    assert.match(redis, /--maxmemory-policy noeviction/);
  });

  it('lists all gateways in nginx.conf, and waits longer than a run takes', async () => {
    const config = await loadExample('gateway.yaml');
    const servers = [...CONF.matchAll(/^\s+server ([\w-]+):(\d+) /gm)];
    assert.deepEqual(
      servers.map(([, name, port]) => `${name}:${port}`),
      GATEWAYS.map(([name]) => `${name}:${config.server.port}`),
    );
    const hours = Number(/proxy_read_timeout (\d+)h;/.exec(CONF)?.[1]);
    assert.ok(hours * 3_600_000 > config.runs.maxRunMs);
    const megabytes = Number(/client_max_body_size (\d+)m;/.exec(CONF)?.[1]);
    assert.ok(megabytes * 1024 ** 2 > config.files.maxBytes);
    assert.match(CONF, /proxy_buffering off;/);
  });

  describe('with nginx', function () {
    // nginx, Redis and two gateways are started.
    this.timeout(patience(30));
    let redis: RedisServer;
    let nginx: Spawned | undefined;
    before(async function () {
      for (const [program, flag] of [
        ['nginx', '-v'],
        ['openssl', 'version'],
      ] as const) {
        if (spawnSync(program, [flag]).status === 0) continue;
        console.warn(`      skipped: there is no ${program} in the PATH`);
        this.skip();
      }
      redis = await redisOrSkip(this);
    });
    after(() => redis?.[Symbol.asyncDispose]());
    // Needed after a timeout too: workers would outlive a kill of the nginx master.
    afterEach(async () => {
      nginx?.child.kill('SIGTERM');
      await nginx?.closed();
    });

    it('nginx.conf is valid, events pass through at once, and a stopped gateway is not noticed', async () => {
      await using provider = await startScriptedProvider();
      const release = Promise.withResolvers<void>();
      provider.respond = async (call) => {
        if (mayCallTools(call)) return turn({ reasoning: 'I know what a lighthouse is.' });
        await release.promise;
        return turn({ text: 'A tower with a lamp.' });
      };
      const variables = { REDIS_URL: redis.url, OPENAI_BASE_URL: provider.url };
      const first = await startExample(variables);
      await using _first = first;
      await using second = await startExample(variables);
      await using folder = await mkdtempDisposable(join(tmpdir(), 'nginx-'));
      const ports = { http: await freePort(), https: await freePort() };
      const gateways = [first.port, second.port, await freePort()];
      const { file, ca } = await prepare(folder.path, { ...ports, gateways });
      const tested = spawnSync('nginx', ['-t', '-p', folder.path, '-c', file], { encoding: 'utf8' });
      assert.equal(tested.status, 0, tested.stderr);

      nginx = new Spawned('nginx', ['-p', folder.path, '-c', file]);
      await nginx.shown(/start worker process/);
      const ask = (path: string, body?: object) => send({ port: ports.https, ca, path, body });

      const stream = await ask('/v1/responses', {
        model: 'deep-research',
        input: 'What is a lighthouse?',
        stream: true,
      });
      assert.equal(stream.statusCode, 200);
      let text = '';
      for await (const chunk of stream) {
        text += chunk;
        // So far the provider has sent nothing of the answer.
        if (text.includes('what a lighthouse is')) release.resolve();
      }
      assert.match(text, /event: response\.completed/);
      assert.match(text, /A tower with a lamp\./);

      assert.equal((await ask('/metrics')).statusCode, 404);
      await first[Symbol.asyncDispose]();
      for (let n = 0; n < 6; n++) assert.equal((await ask('/v1/models')).statusCode, 200);
      const moved = await fetch(`http://127.0.0.1:${ports.http}/v1/models`, { redirect: 'manual' });
      assert.equal(moved.status, 308);
    });
  });
});

/** Writes `nginx.conf` with addresses, a certificate and folders of this test, and otherwise unchanged. */
async function prepare(folder: string, of: { http: number; https: number; gateways: number[] }) {
  const [key, cert] = [join(folder, 'key.pem'), join(folder, 'cert.pem')];
  const subject = ['-subj', '/CN=localhost', '-addext', 'subjectAltName=DNS:localhost'];
  const made = spawnSync('openssl', [
    ...['req', '-x509', '-newkey', 'rsa:2048', '-nodes', '-days', '2', ...subject],
    ...['-keyout', key, '-out', cert],
  ]);
  assert.equal(made.status, 0, String(made.stderr));
  const temporary = ['client_body', 'proxy', 'fastcgi', 'uwsgi', 'scgi'].map((kind) => `${kind}_temp_path ${kind};`);
  // Responses turn buffering off themselves; here the file has to.
  const own = [...temporary, 'proxy_ignore_headers X-Accel-Buffering;'].join('\n');
  let text = CONF.replace('listen 80;', `listen 127.0.0.1:${of.http};`)
    .replace('listen 443 ', `listen 127.0.0.1:${of.https} `)
    .replace('/etc/nginx/tls/cert.pem', cert)
    .replace('/etc/nginx/tls/key.pem', key)
    .replace('http {', `http {\n${own}`)
    .replace(/worker_processes auto;|worker_rlimit_nofile \d+;/g, '');
  for (const [n, port] of of.gateways.entries()) text = text.replace(`gateway-${n + 1}:8080`, `127.0.0.1:${port}`);
  const file = join(folder, 'nginx.conf');
  await writeFile(file, `daemon off;\npid ${join(folder, 'pid')};\nerror_log stderr notice;\n${text}`);
  return { file, ca: await readFile(cert) };
}

function send(of: { port: number; ca: Buffer; path: string; body?: object | undefined }): Promise<IncomingMessage> {
  const { port, ca, path, body } = of;
  const answered = Promise.withResolvers<IncomingMessage>();
  const headers = { authorization: `Bearer ${EXAMPLE_KEY}`, 'content-type': 'application/json' };
  const options = { host: '127.0.0.1', servername: 'localhost', port, ca, path, headers, agent: false };
  const sent = request({ ...options, method: body ? 'POST' : 'GET' }, answered.resolve);
  sent.on('error', answered.reject);
  sent.end(body && JSON.stringify(body));
  return answered.promise;
}
