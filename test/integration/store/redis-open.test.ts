import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setImmediate } from 'node:timers/promises';
import { createClient } from '@redis/client';
import { createLogger, silentLogger } from '../../../src/base/logger.ts';
import { store as storeSection } from '../../../src/config/schema/service.ts';
import { checkStore } from '../../../src/store/maintenance.ts';
import { openRedisStore } from '../../../src/store/redis/open.ts';
import { eventually } from '../../support/eventually.ts';
import { freePort } from '../../support/free-port.ts';
import { redisOrSkip } from '../../support/redis.ts';
import { patience } from '../../support/time-limit.ts';

describe('opening the Redis store', function () {
  // Servers are started as processes.
  this.timeout(patience(30));
  const open = async (url: string) => {
    const lines: string[] = [];
    const log = createLogger({ level: 'warn', destination: { write: (line: string) => void lines.push(line) } });
    const { runs } = await openRedisStore({ url, log, limitMs: 400, connectLimitMs: 1000 });
    const { ok } = await runs.check();
    await runs.close();
    return { ok, lines: lines.join('') };
  };

  it('takes password and database from the URL, and never prints the password', async function () {
    await using server = await redisOrSkip(this, ['--requirepass', 'se:cret/42']);
    const at = (password: string, db: number) =>
      `redis://:${encodeURIComponent(password)}@127.0.0.1:${server.port}/${db}`;
    assert.equal((await open(at('se:cret/42', 3))).ok, true);
    const refused = await open(at('wrong-password', 0)).catch((thrown: Error) => thrown);
    assert.ok(refused instanceof Error);
    assert.match(refused.message, /127\.0\.0\.1:\d+.*password/i);
    assert.doesNotMatch(refused.message, /wrong-password/);
    await assert.rejects(open(at('se:cret/42', 99)), /database/);
  });

  it('warns about eviction and missing persistence, and only about them', async function () {
    await using careless = await redisOrSkip(this, ['--maxmemory-policy', 'allkeys-lru', '--appendonly', 'no']);
    const { lines } = await open(careless.url);
    assert.match(lines, /maxmemory-policy noeviction/);
    assert.match(lines, /appendonly yes/);
    await using good = await redisOrSkip(this);
    assert.equal((await open(good.url)).lines, '');
  });

  it('fails a check, but calls nothing damaged, while Redis takes no writes', async function () {
    await using server = await redisOrSkip(this, ['--maxmemory', '1']);
    const check = checkStore(storeSection.parse({ url: server.url }), { log: silentLogger });
    await assert.rejects(check, /store\.url: Redis is out of memory\. docs\/operations\/redis\.md/);
  });

  it('speaks TLS with rediss://, and refuses an unknown certificate', async function () {
    if (spawnSync('openssl', ['version']).status !== 0 && !process.env.CI) {
      console.warn('      skipped: no openssl in the PATH to make a certificate');
      return this.skip();
    }
    const folder = await mkdtemp(join(tmpdir(), 'redis-tls-'));
    const [key, cert] = [join(folder, 'key.pem'), join(folder, 'cert.pem')];
    const subject = ['-subj', '/CN=localhost', '-addext', 'subjectAltName=DNS:localhost'];
    const made = spawnSync('openssl', [
      ...['req', '-x509', '-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:prime256v1', '-nodes', '-days', '2'],
      ...['-keyout', key, '-out', cert, ...subject],
    ]);
    assert.equal(made.status, 0, `openssl makes a certificate: ${made.error ?? made.stderr}`);
    const port = await freePort();
    const tls = ['--tls-port', `${port}`, '--tls-cert-file', cert, '--tls-key-file', key, '--tls-auth-clients', 'no'];
    await using _ = await redisOrSkip(this, tls);
    const url = `rediss://localhost:${port}/0`;
    await assert.rejects(open(url), /certificate/);
    const script = `
      import { openRedisStore } from '${import.meta.resolve('../../../src/store/redis/open.ts')}';
      import { silentLogger } from '${import.meta.resolve('../../../src/base/logger.ts')}';
      const { runs } = await openRedisStore({ url: '${url}', log: silentLogger });
      console.log(JSON.stringify(await runs.check()));
      await runs.close();`;
    const trusting = { env: { ...process.env, NODE_EXTRA_CA_CERTS: cert }, encoding: 'utf8' } as const;
    const answer = spawnSync(process.execPath, ['--input-type=module', '-e', script], trusting);
    assert.equal(answer.stdout.trim(), '{"ok":true}', answer.stderr);
    await rm(folder, { recursive: true });
  });

  it('names the setting if the Redis takes no writes', async function () {
    await using replica = await redisOrSkip(this, [
      '--replicaof',
      '127.0.0.1',
      '1',
      '--replica-serve-stale-data',
      'yes',
    ]);
    await assert.rejects(open(replica.url), /^Error: store\.url: Redis is a replica\. docs\/operations\/redis\.md /);
  });

  it('says that its Redis was made a replica, and does not connect again for every refused command', async function () {
    await using server = await redisOrSkip(this, ['--replica-serve-stale-data', 'yes']);
    const lines: string[] = [];
    const log = createLogger({ level: 'warn', destination: { write: (line: string) => void lines.push(line) } });
    const { runs } = await openRedisStore({ url: server.url, log, limitMs: 5000 });
    await using opened = new AsyncDisposableStack();
    opened.defer(() => runs.close());
    const admin = createClient({ url: server.url });
    await admin.connect();
    opened.defer(() => admin.destroy());
    const connections = async () => Number(/total_connections_received:(\d+)/.exec(await admin.info('stats'))?.[1]);
    await admin.sendCommand(['REPLICAOF', '127.0.0.1', '1']);
    const before = await connections();
    for (let refused = 0; refused < 100; ) {
      const checked = await runs.check();
      const reason = checked.ok ? 'none' : checked.reason;
      if (reason === 'Redis is a replica') refused++;
      await setImmediate();
    }
    assert.ok((await connections()) - before < 50, `${(await connections()) - before} connections for 100 refusals`);
    assert.match(lines.join(''), /"reason":"[^"]*Redis is a replica[^"]*".*connection to Redis lost/);
    assert.doesNotMatch(lines.join(''), /does not answer/);
    await admin.sendCommand(['REPLICAOF', 'NO', 'ONE']);
    await eventually('it can be written again', async () => (await runs.check()).ok);
  });

  it('names the address if there is no Redis', async () => {
    await assert.rejects(open('redis://127.0.0.1:1/0'), /no connection to Redis at 127\.0\.0\.1:1.*ECONNREFUSED/);
  });
});
