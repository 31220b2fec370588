import assert from 'node:assert/strict';
import { Registry } from 'prom-client';
import { createLogger, type Logger } from '../../src/base/logger.ts';
import { CredentialCipher } from '../../src/base/secrets/encrypt.ts';
import { LiveConfig } from '../../src/config/live-config.ts';
import { configSchema } from '../../src/config/schema.ts';
import { secretHash } from '../../src/config/secrets.ts';
import { storedRequest } from '../../src/runs/stored/stored-request.ts';
import { openSqliteStore } from '../../src/store/sqlite/open.ts';
import { createSender } from '../../src/webhooks/send.ts';
import { Webhooks } from '../../src/webhooks/webhooks.ts';
import { endedRun, testClock } from '../contract/run-store-fixture.ts';
import { eventually } from '../support/eventually.ts';
import { inwardHosts } from '../support/inward-addresses.ts';
import { patience } from '../support/time-limit.ts';
import { startWebServer } from '../support/web-server.ts';
import { type ReceivedWebhook, startReceiver } from '../support/webhook-receiver.ts';

const KEY = { id: 'ann', secret: 'sk-ann-of-the-webhooks' };
const SECRET = 'whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw';

interface Options {
  /** The `webhook` setting of the key. */
  webhook?: object | undefined;
  allowHosts?: string[];
}

/** Webhooks over a store, without the rest of a gateway. Only the test moves the clock. */
async function openWebhooks({ webhook, allowHosts = ['127.0.0.1'] }: Options = {}) {
  const clock = testClock();
  const lines: string[] = [];
  const log: Logger = createLogger({ destination: { write: (line: string) => void lines.push(line) } });
  const store = openSqliteStore('memory:', { sync: 'normal', log, clock });
  const config = new LiveConfig(
    configSchema.parse({
      providers: { demo: { builtin: 'demo' } },
      models: { m: { kind: 'proxy', routes: [{ provider: 'demo', model: 'm' }] } },
      keys: [{ ...KEY, ...(webhook && { webhook }) }],
      webhooks: { allow_hosts: allowHosts },
    }),
  );
  /** Changes the id of the only key. */
  const rename = (id: string) =>
    config.replace({ ...config.current(), keys: config.current().keys.map((key) => ({ ...key, id })) });
  const registry = new Registry();
  const storage = { runs: store, deliveries: store.sideStores.deliveries };
  const open = (own = new Registry()) => {
    const opened = new Webhooks({ storage, config, clock, log, registry: own });
    opened.start();
    return opened;
  };
  const webhooks = open(registry);
  /** Stores an ended task whose webhooks are due. */
  const ended = async (requested?: { url: string; secret?: string }, status: 'completed' | 'failed' = 'completed') => {
    const request = storedRequest(
      {
        caller: { user: 'ann', keyId: 'ann' },
        api: 'async',
        model: 'm',
        request: { kind: 'proxy', body: '{}' },
        input: [],
        background: true,
        metadata: {},
        previousResponseId: null,
        ...(requested && { webhook: { secret: undefined, ...requested } }),
      },
      { cipher: new CredentialCipher(secretHash(KEY), []), held: {}, notifies: true },
    );
    const { run } = await endedRun(store, {
      user: 'ann',
      keyId: 'ann',
      api: 'async',
      kind: 'proxy',
      request: JSON.stringify(request),
      status,
      retainMs: 90 * 3_600_000,
    });
    const record = await store.get(run.id);
    assert.ok(record);
    await store.sideStores.deliveries.schedule(run.id, { dueInMs: 60_000 });
    return record;
  };
  return {
    clock,
    store,
    registry,
    webhooks,
    lines,
    rename,
    open,
    ended,
    async [Symbol.asyncDispose]() {
      await webhooks[Symbol.asyncDispose]();
      await store.close();
    },
  };
}

const typeOf = ({ body }: ReceivedWebhook) => JSON.parse(body).type;

describe('webhooks', () => {
  it('notify the receivers of the request and of the key of the end of a run, once each', async () => {
    await using receiver = await startReceiver();
    await using hooks = await openWebhooks({ webhook: { url: `${receiver.url}/key`, secret: SECRET } });
    const run = await hooks.ended({ url: `${receiver.url}/request?token=1`, secret: 'another secret of the client' });
    await hooks.webhooks.deliverEnd(run.id);
    const [first, second] = await receiver.waitFor(2);
    assert.deepEqual([first?.path, second?.path].sort(), ['/key', '/request?token=1']);
    assert.equal(first?.body, second?.body);
    assert.deepEqual(JSON.parse(first?.body ?? ''), {
      id: `evt_${run.id}`,
      object: 'event',
      type: 'task.completed',
      created_at: Math.floor((run.endedAt ?? 0) / 1000),
      data: { id: `task_${run.id}` },
    });
    assert.equal(first?.headers['webhook-id'], `evt_${run.id}`);
    assert.notEqual(first?.headers['webhook-signature'], second?.headers['webhook-signature']);
    const all = await eventually('both are delivered', async () => {
      const all = await hooks.webhooks.listDeliveries(run);
      return all.every(({ status }) => status === 'delivered') ? all : undefined;
    });
    assert.deepEqual(
      all.map(({ receiver: name, url }) => [name, url]),
      [
        ['request', `${receiver.url}/request`],
        // The rest of the operator's URL may be a secret.
        ['key', receiver.url],
      ],
    );
    assert.equal(await hooks.store.sideStores.deliveries.count(), 0);
    hooks.clock.ms += 24 * 3_600_000;
    await hooks.webhooks.deliverEnd(run.id);
    await eventually(
      'it was looked at',
      async () => (await hooks.store.sideStores.deliveries.count()) === 0 || undefined,
    );
    assert.equal(receiver.messages.length, 2);
  });

  it('are retried with a new signature after a failure, until they are accepted', async () => {
    await using receiver = await startReceiver((_, n) => (n === 0 ? 500 : 200));
    await using hooks = await openWebhooks();
    const run = await hooks.ended({ url: receiver.url, secret: SECRET });
    const stamps: unknown[] = [];
    for (const [n, restMs] of [0, 5000].entries()) {
      hooks.clock.ms += restMs;
      await hooks.webhooks.deliverEnd(run.id);
      const message = (await receiver.waitFor(n + 1))[n];
      stamps.push(message?.headers['webhook-timestamp']);
      if (n === 0) {
        await eventually('the failure is kept', async () => (await hooks.webhooks.listDeliveries(run))[0]?.attempts[0]);
      }
    }
    assert.equal(Number(stamps[1]) - Number(stamps[0]), 5);
    const delivered = await eventually('it is taken', async () => {
      const [delivery] = await hooks.webhooks.listDeliveries(run);
      return delivery?.status === 'delivered' ? delivery : undefined;
    });
    assert.deepEqual(
      delivered.attempts.map(({ status_code, error }) => [status_code, error]),
      [
        [500, null],
        [200, null],
      ],
    );
    assert.equal(delivered.next_attempt_at, null);
  });

  it('are not sent to internal addresses, by any name, unless the operator allows the host', async () => {
    await using receiver = await startReceiver();
    await using hooks = await openWebhooks({ allowHosts: [] });
    const port = new URL(receiver.url).port;
    for (const host of ['127.0.0.1', 'localhost', '[::1]', '0.0.0.0', '[::ffff:127.0.0.1]']) {
      const run = await hooks.ended({ url: `http://${host}:${port}/` });
      await hooks.webhooks.deliverEnd(run.id);
      const attempt = await eventually(host, async () => (await hooks.webhooks.listDeliveries(run))[0]?.attempts[0]);
      assert.match(attempt.error ?? '', /^blocked_/, host);
      assert.equal(attempt.status_code, null);
    }
    assert.equal(receiver.messages.length, 0);
  });

  it('block every notation of internal addresses, and cloud metadata even if allowed', async () => {
    await using receiver = await startReceiver();
    const port = new URL(receiver.url).port;
    const message = { headers: {}, body: '{}' };
    const { signal } = new AbortController();
    await using guarded = createSender({ allowHosts: () => ['example.com', '0.0.1'], signal });
    // Not every machine resolves ip6-localhost.
    const inward = inwardHosts().filter((host) => host !== 'ip6-localhost');
    const hosts = [...inward, 'user:password@127.0.0.1', 'example.com@127.0.0.1'];
    const attempts = await Promise.all(hosts.map((host) => guarded.send(`http://${host}:${port}/`, message, 0)));
    for (const [n, { status, error }] of attempts.entries()) {
      assert.match(error ?? '', /^(blocked_|invalid_url)/, `${hosts[n]}`);
      assert.equal(status, null, `${hosts[n]}`);
    }
    await using trusting = createSender({ allowHosts: () => ['169.254.169.254', '127.0.0.1'], signal });
    const metadata = await trusting.send('http://169.254.169.254/latest/meta-data/', message, 0);
    assert.equal(metadata.error, 'blocked_address');
    // A port that speaks another protocol, on an allowed host.
    assert.notEqual((await trusting.send('http://127.0.0.1:25/', message, 0)).error, null);
    assert.equal(receiver.messages.length, 0);
    assert.equal((await trusting.send(receiver.url, message, 0)).status, 204);
  });

  it('do not follow redirects', async () => {
    await using inside = await startReceiver();
    await using receiver = await startReceiver(() => ({ status: 307, headers: { location: inside.url } }));
    await using hooks = await openWebhooks();
    const run = await hooks.ended({ url: receiver.url });
    await hooks.webhooks.deliverEnd(run.id);
    const attempt = await eventually(
      'an attempt',
      async () => (await hooks.webhooks.listDeliveries(run))[0]?.attempts[0],
    );
    assert.equal(attempt.status_code, 307);
    assert.equal(inside.messages.length, 0);
  });

  it('count as delivered although the receiver’s response body never ends', async () => {
    const headers = { 'content-length': '100000000' };
    await using receiver = await startReceiver(() => ({ status: 200, headers }));
    await using hooks = await openWebhooks();
    const run = await hooks.ended({ url: receiver.url });
    await hooks.webhooks.deliverEnd(run.id);
    const attempt = await eventually(
      'an attempt',
      async () => (await hooks.webhooks.listDeliveries(run))[0]?.attempts[0],
    );
    assert.deepEqual([attempt.status_code, attempt.error], [200, null]);
  });

  it('disconnect from a receiver that keeps sending', async function () {
    // The default limit of the test would also allow the timeout after half a minute of silence.
    this.timeout(patience(5));
    const disconnected = Promise.withResolvers<void>();
    await using web = await startWebServer((_, response) => {
      response.once('close', () => disconnected.resolve());
      response.writeHead(200).write('and another thing');
    });
    await using hooks = await openWebhooks();
    const run = await hooks.ended({ url: web.origin });
    await hooks.webhooks.deliverEnd(run.id);
    await disconnected.promise;
    assert.equal((await hooks.webhooks.listDeliveries(run))[0]?.attempts[0]?.status_code, 200);
  });

  it('of a dead receiver do not delay others', async () => {
    await using dead = await startReceiver(() => 'nothing');
    await using receiver = await startReceiver();
    await using hooks = await openWebhooks();
    for (let n = 0; n < 100; n++) {
      const run = await hooks.ended({ url: dead.url });
      await hooks.store.sideStores.deliveries.schedule(run.id, { dueInMs: 0 });
    }
    hooks.clock.ms += 10;
    const run = await hooks.ended({ url: receiver.url });
    await hooks.webhooks.deliverEnd(run.id);
    await receiver.waitFor(1);
    assert.ok(dead.messages.length <= 32, `${dead.messages.length} at once`);
  });

  it('are sent only for the events that the key selects', async () => {
    await using receiver = await startReceiver();
    await using hooks = await openWebhooks({ webhook: { url: receiver.url, events: ['task.failed'] } });
    const completed = await hooks.ended();
    await hooks.webhooks.deliverEnd(completed.id);
    const failed = await hooks.ended(undefined, 'failed');
    await hooks.webhooks.deliverEnd(failed.id);
    const [message] = await receiver.waitFor(1);
    assert.equal(message && typeOf(message), 'task.failed');
    await eventually('nothing waits', async () => (await hooks.store.sideStores.deliveries.count()) === 0 || undefined);
    assert.equal(receiver.messages.length, 1);
    assert.deepEqual(await hooks.webhooks.listDeliveries(completed), []);
  });

  it('are delivered by another instance if the one that took them is gone', async () => {
    await using receiver = await startReceiver();
    await using hooks = await openWebhooks();
    const run = await hooks.ended({ url: receiver.url });
    await hooks.store.sideStores.deliveries.schedule(run.id, { dueInMs: 0 });
    // Taken by an instance that never delivers it.
    const taken = await hooks.store.sideStores.deliveries.takeDue({ limit: 1, leaseMs: 60_000 });
    if (taken.length === 0) return;
    hooks.clock.ms += 60_000;
    await receiver.waitFor(1);
  });

  it('can be redelivered', async () => {
    let status = 410;
    await using receiver = await startReceiver(() => status);
    await using hooks = await openWebhooks();
    const run = await hooks.ended({ url: receiver.url });
    await hooks.webhooks.deliverEnd(run.id);
    await eventually(
      'it is given up',
      async () => (await hooks.webhooks.listDeliveries(run))[0]?.status === 'failed' || undefined,
    );
    status = 200;
    const again = await hooks.webhooks.redeliver(run, 'request');
    assert.ok(again.status !== 'failed');
    await receiver.waitFor(2);
    await eventually(
      'it is taken',
      async () => (await hooks.webhooks.listDeliveries(run))[0]?.status === 'delivered' || undefined,
    );
    await assert.rejects(hooks.webhooks.redeliver(run, 'key'), /no delivery/);
  });

  it('count attempts and waiting deliveries in metrics', async () => {
    await using receiver = await startReceiver((_, n) => (n === 0 ? 500 : 200));
    await using hooks = await openWebhooks();
    for (let n = 0; n < 2; n++) {
      const run = await hooks.ended({ url: receiver.url });
      await hooks.webhooks.deliverEnd(run.id);
      await eventually('an attempt', async () => (await hooks.webhooks.listDeliveries(run))[0]?.attempts[0]);
    }
    const text = await hooks.registry.metrics();
    assert.match(text, /gateway_webhook_attempts_total\{outcome="retried"\} 1/);
    assert.match(text, /gateway_webhook_attempts_total\{outcome="delivered"\} 1/);
    assert.match(text, /gateway_webhooks_waiting 1/);
  });

  it('wait for a key that is missing, and are given up after an hour', async () => {
    await using receiver = await startReceiver();
    await using hooks = await openWebhooks();
    const { deliveries } = hooks.store.sideStores;
    const heldBack = async () => {
      hooks.rename('someone-else');
      const run = await hooks.ended({ url: receiver.url });
      await hooks.webhooks.deliverEnd(run.id);
      await eventually('it was looked at', async () => (await deliveries.get(run.id)) === '{}' || undefined);
      return run;
    };
    const run = await heldBack();
    hooks.rename('ann');
    hooks.clock.ms += 5000;
    await hooks.webhooks.deliverEnd(run.id);
    await receiver.waitFor(1);
    const late = await heldBack();
    hooks.clock.ms += 3_600_000;
    await hooks.webhooks.deliverEnd(late.id);
    await eventually('nothing waits', async () => (await deliveries.count()) === 0 || undefined);
    assert.equal(receiver.messages.length, 1);
    assert.deepEqual(hooks.lines, []);
  });
});
