import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { mkdir, rmdir } from 'node:fs/promises';
import { join } from 'node:path';
import { createClient } from '@redis/client';
import { eventually } from '../support/eventually.ts';
import { type RedisServer, redisOrSkip, SYNC_ALWAYS } from '../support/redis.ts';
import { type Script, turn } from '../support/scripted-provider.ts';
import { SseReader } from '../support/sse-reader.ts';
import { patience } from '../support/time-limit.ts';
import { HEADERS, type Instances, startInstances, submit } from '../support/two-instances.ts';

/** No request waits longer for a store that does not answer. */
const REQUEST_LIMIT_SECONDS = 6;

describe('gateways while Redis is unavailable', function () {
  // Redis is stopped, and comes back.
  this.timeout(patience(30));
  let redis: RedisServer;
  let instances: Instances;
  const stack = new AsyncDisposableStack();
  before(async function () {
    redis = stack.use(await redisOrSkip(this, SYNC_ALWAYS));
    instances = stack.use(await startInstances({ storeUrl: redis.url, names: ['one', 'two'] }));
  });
  after(() => stack.disposeAsync());

  /**
   * Starts a run whose provider sends a word, waits for `goOn` and sends the rest; another run to be cancelled; and a
   * chat whose client will disconnect. The provider sends the last two a word and never ends.
   */
  async function openWithRun() {
    const [gateway] = [...instances.gateways.values()];
    assert.ok(gateway);
    const waiting = Promise.withResolvers<void>();
    const words = turn({ text: 'one two three four', chunks: 4, pace: 1 });
    const steps = [...words.steps];
    steps.splice(4, 0, { do: 'until', promise: waiting.promise });
    const script: Script = { ...words, steps };
    const endless: Script = {
      ...words,
      steps: words.steps.toSpliced(4, 0, { do: 'until', promise: new Promise(() => {}) }),
    };
    const { length: before } = instances.provider.requests;
    instances.provider.respond = ({ body }) => (JSON.stringify(body).includes('endless') ? endless : script);
    const doomed = await submit(gateway, { input: 'endless response' });
    const leaving = new AbortController();
    const messages = [{ role: 'user', content: 'endless chat' }];
    const chat = await fetch(`${gateway.url}/v1/chat/completions`, {
      method: 'POST',
      headers: HEADERS,
      body: JSON.stringify({ model: 'researcher', messages, stream: true }),
      signal: leaving.signal,
    });
    chat.text().catch(() => {});
    await instances.provider.waitForRequest(before + 2);
    const unread = instances.provider.requests.slice(before, before + 2);
    const input = `Question ${randomUUID()}?`;
    const id = await submit(gateway, { input });
    const reader = await SseReader.open(`${gateway.url}/v1/responses/${id}?stream=true`, { headers: HEADERS });
    await reader.until((events) => events.some((event) => event.type === 'response.output_text.delta'));
    return {
      gateway,
      id,
      doomed,
      /** Disconnects the chat client; resolves when its call to the provider and that of the cancelled run are aborted. */
      async leave() {
        leaving.abort();
        for (const { closed } of unread) assert.deepEqual(await closed, { left: true });
      },
      reader,
      goOn: () => waiting.resolve(),
      /** The requests that the provider got for the run. */
      asked: () => instances.provider.requests.filter(({ body }) => JSON.stringify(body).includes(input)),
    };
  }
  type Opened = Awaited<ReturnType<typeof openWithRun>>;

  const ask = async (opened: Opened, path: string, init: RequestInit = {}) => {
    const limit = AbortSignal.timeout(patience(REQUEST_LIMIT_SECONDS));
    return await fetch(opened.gateway.url + path, { headers: HEADERS, signal: limit, ...init });
  };

  /** Asserts what clients see during the outage. */
  async function assertRefused(opened: Opened) {
    const body = JSON.stringify({ model: 'researcher', input: 'Now?', background: true });
    for (const [path, init] of [
      ['/v1/responses', { method: 'POST', body }],
      ['/v1/responses', { method: 'POST', body, headers: { ...HEADERS, 'idempotency-key': 'a' } }],
      [`/v1/responses/${opened.doomed}/cancel`, { method: 'POST' }],
    ] as const) {
      const response = await ask(opened, path, init);
      assert.equal(response.status, 503);
      assert.match(response.headers.get('retry-after') ?? '', /^\d+$/);
      const { error } = (await response.json()) as { error: { code: string } };
      assert.equal(error.code, 'store_unavailable');
    }
    await opened.leave();
    const ready = await ask(opened, '/readyz');
    assert.equal(ready.status, 503);
    assert.match(await ready.text(), /store/);
    assert.equal((await ask(opened, '/healthz')).status, 200);
  }

  /** Asserts that the open stream continued to the end of the run, and that the gateway works again. */
  async function assertGoesOn({ gateway, id, doomed, reader }: Opened) {
    const end = (await reader.end()).at(-1);
    assert.equal(end?.type, 'response.completed');
    assert.equal(end.response.output_text, 'one two three four');
    const replay = await SseReader.open(`${gateway.url}/v1/responses/${id}?stream=true`, { headers: HEADERS });
    await replay.end();
    assert.equal(reader.bytes.toString(), replay.bytes.toString());
    await eventually('it is ready', async () => {
      const response = await fetch(`${gateway.url}/readyz`);
      return response.status === 200 ? true : undefined;
    });
    await eventually('the cancel is carried out', async () => {
      const response = await fetch(`${gateway.url}/v1/responses/${doomed}`, { headers: HEADERS });
      return ((await response.json()) as { status?: string }).status === 'cancelled' ? true : undefined;
    });
    const next = await submit(gateway);
    const following = await SseReader.open(`${gateway.url}/v1/responses/${next}?stream=true`, { headers: HEADERS });
    assert.equal((await following.end()).at(-1)?.type, 'response.completed');
  }

  const heartbeats = ({ reader }: Opened) => reader.raw.toString().split(': heartbeat').length - 1;
  const beats = (opened: Opened) => {
    const before = heartbeats(opened);
    return eventually('heartbeats', () => (heartbeats(opened) > before + 1 ? true : undefined));
  };

  it('because it was killed: requests get 503, streams stay open, and its restart loses nothing', async () => {
    const opened = await openWithRun();
    await redis.kill();
    opened.goOn();
    await eventually('it is noticed', async () => ((await ask(opened, '/readyz')).status === 503 ? true : undefined));
    await assertRefused(opened);
    await beats(opened);
    await redis.start();
    await assertGoesOn(opened);
  });

  it('because it is frozen: no request hangs', async () => {
    const opened = await openWithRun();
    redis.freeze();
    opened.goOn();
    try {
      await assertRefused(opened);
      await beats(opened);
    } finally {
      redis.thaw();
    }
    await assertGoesOn(opened);
  });

  it('because its memory is full: nothing is lost, and runs continue when there is room', async () => {
    const opened = await openWithRun();
    const admin = await createClient({ url: redis.url }).connect();
    await admin.configSet('maxmemory', '1mb');
    opened.goOn();
    try {
      await eventually('it is noticed', async () => ((await ask(opened, '/readyz')).status === 503 ? true : undefined));
      await assertRefused(opened);
      await beats(opened);
    } finally {
      await admin.configSet('maxmemory', '0');
      admin.destroy();
    }
    await assertGoesOn(opened);
  });

  it('for longer than a claim lasts: the drivers keep their runs, and no step is paid for twice', async () => {
    const opened = await openWithRun();
    const admin = await createClient({ url: redis.url }).connect();
    const run = `gateway:{${opened.id.replace('resp_', '')}}:run`;
    await admin.configSet('maxmemory', '1mb');
    opened.goOn();
    try {
      await eventually('it is noticed', async () => ((await ask(opened, '/readyz')).status === 503 ? true : undefined));
      await assertRefused(opened);
      // Other executors look four times a second, so by then they have tried to take the run over and failed.
      await eventually('its claim ran out two seconds ago', async () => {
        const until = Number(await admin.hGet(run, 'until'));
        const [seconds] = await admin.sendCommand<[string, string]>(['TIME']);
        return until > 0 && Number(seconds) * 1000 > until + 2000 ? true : undefined;
      });
    } finally {
      await admin.configSet('maxmemory', '0');
      admin.destroy();
    }
    await assertGoesOn(opened);
    const requests = opened.asked();
    assert.equal(requests.length, 1, `${requests.map(({ path }) => path)}`);
  });

  it('because its user lost its rights: streams stay open, and runs continue when the rights are back', async () => {
    const opened = await openWithRun();
    const admin = await createClient({ url: redis.url }).connect();
    await admin.sendCommand(['ACL', 'SETUSER', 'default', '-@read', '-@write']);
    opened.goOn();
    try {
      await eventually('it is noticed', async () => ((await ask(opened, '/readyz')).status === 503 ? true : undefined));
      await assertRefused(opened);
      await beats(opened);
    } finally {
      await admin.sendCommand(['ACL', 'SETUSER', 'default', '+@all']);
      admin.destroy();
    }
    await assertGoesOn(opened);
  });

  it('because it was made a replica: runs continue when a master is back', async () => {
    const opened = await openWithRun();
    const admin = await createClient({ url: redis.url }).connect();
    await admin.sendCommand(['REPLICAOF', '127.0.0.1', '1']);
    opened.goOn();
    try {
      await eventually('it is noticed', async () => ((await ask(opened, '/readyz')).status === 503 ? true : undefined));
      await assertRefused(opened);
    } finally {
      await admin.sendCommand(['REPLICAOF', 'NO', 'ONE']);
      admin.destroy();
    }
    await assertGoesOn(opened);
  });

  it('because it cannot write to its disk: runs continue when it can', async () => {
    const opened = await openWithRun();
    const admin = await createClient({ url: redis.url }).connect();
    const { dir = '', dbfilename = '' } = await admin.configGet(['dir', 'dbfilename']);
    const snapshot = join(dir, dbfilename);
    await mkdir(snapshot);
    try {
      await admin.configSet({ 'stop-writes-on-bgsave-error': 'yes', save: '3600 1000000' });
      await admin.sendCommand(['BGSAVE']);
      await eventually('a snapshot failed, because it cannot replace a folder', async () =>
        (await admin.info('persistence')).includes('rdb_last_bgsave_status:err') ? true : undefined,
      );
      opened.goOn();
      await eventually('it is noticed', async () => ((await ask(opened, '/readyz')).status === 503 ? true : undefined));
      await assertRefused(opened);
      await beats(opened);
    } finally {
      await admin.configSet({ 'stop-writes-on-bgsave-error': 'no', save: '' });
      await rmdir(snapshot);
      admin.destroy();
    }
    await assertGoesOn(opened);
  });

  it('because a script keeps it busy: runs continue when it is killed', async () => {
    const opened = await openWithRun();
    const admin = await createClient({ url: redis.url }).connect();
    const script = await createClient({ url: redis.url }).connect();
    await admin.configSet('busy-reply-threshold', '50');
    const busy = script.eval('while true do end').catch(() => {});
    opened.goOn();
    try {
      await eventually('it is noticed', async () => ((await ask(opened, '/readyz')).status === 503 ? true : undefined));
      await assertRefused(opened);
      await beats(opened);
    } finally {
      await admin.sendCommand(['SCRIPT', 'KILL']);
      await busy;
      admin.destroy();
      script.destroy();
    }
    await assertGoesOn(opened);
  });

  it('still stop in time when told to', async () => {
    const opened = await openWithRun();
    await redis.kill();
    opened.goOn();
    const limit = AbortSignal.timeout(patience(15));
    const code = await Promise.race([
      opened.gateway.terminate(),
      new Promise((resolve) => limit.addEventListener('abort', () => resolve('it does not stop'))),
    ]);
    await redis.start();
    assert.equal(code, 0);
  });
});
