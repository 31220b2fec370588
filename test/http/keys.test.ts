import assert from 'node:assert/strict';
import { once } from 'node:events';
import { connect } from 'node:net';
import { silentLogger } from '../../src/base/logger.ts';
import { configSchema } from '../../src/config/schema.ts';
import { responseObject } from '../../src/protocol/response.ts';
import { startGateway } from '../../src/server.ts';
import { eventsIn, open, rawExchange, send } from '../support/http-client.ts';
import { KEYS, openGateway, type TestGateway, until } from '../support/http-gateway.ts';
import { IDLE_LOAD } from '../support/idle-load.ts';
import { startScriptedProvider, turn } from '../support/scripted-provider.ts';

/** Removes a key, as a reload does. */
function removeKey(gateway: TestGateway, id: string): void {
  const config = gateway.parts.config.current();
  gateway.configure({ ...config, keys: config.keys.filter((key) => key.id !== id) });
}

/** Waits until `count` runs are in progress. */
function running({ runs }: TestGateway, count: number): Promise<true> {
  return until(async () => ((await runs.countOpen()).inProgress === count ? true : undefined));
}

describe('the Authorization header', () => {
  for (const [what, lines] of [
    ['twice the same key', [`Authorization: Bearer ${KEYS.ann}`, `authorization: Bearer ${KEYS.ann}`]],
    ['a good key before another', [`Authorization: Bearer ${KEYS.ann}`, 'AUTHORIZATION: Bearer sk-wrong']],
    ['an empty one before a good key', ['Authorization:', `Authorization: Bearer ${KEYS.ann}`]],
  ] as const) {
    it(`is refused if sent several times: ${what}`, async () => {
      await using gateway = await openGateway();
      const head = ['GET /v1/models HTTP/1.1', 'Host: a', ...lines, 'Connection: close'].join('\r\n');
      assert.match(await rawExchange(gateway, `${head}\r\n\r\n`), /^HTTP\/1\.1 401 .*"invalid_api_key"/s);
    });
  }
});

describe('a key that expires', () => {
  it('is accepted until it expires, then refused', async () => {
    await using gateway = await openGateway();
    const statusWith = async (expires_at: string) => {
      const config = gateway.parts.config.current();
      gateway.configure({ ...config, keys: config.keys.map((key) => ({ ...key, expires_at })) });
      const { status, text } = await send(gateway, 'GET /v1/models', { key: 'ann' });
      return [status, /The API key expired at [^"]*/.exec(text)?.[0]];
    };
    assert.deepEqual(await statusWith('2999-01-01T00:00:00Z'), [200, undefined]);
    const past = '2020-01-01T00:00:00+02:00';
    assert.deepEqual(await statusWith(past), [401, `The API key expired at ${past}.`]);
  });

  it('requires an ISO 8601 time', () => {
    const { keys } = configSchema.shape;
    assert.ok(keys.safeParse([{ id: 'a', secret: 'sk-a', expires_at: '2027-01-31T00:00:00Z' }]).success);
    assert.match(
      keys.safeParse([{ id: 'a', secret: 'sk-a', expires_at: '31.01.2027' }]).error?.message ?? '',
      /must be a time such as 2027/,
    );
  });
});

describe('a key with allow_from', () => {
  it('is refused from other networks; x-forwarded-for counts only from a trusted proxy', async () => {
    await using gateway = await openGateway();
    const statusWith = async (allow_from: string[], { proxies = [] as string[], forwarded = '' } = {}) => {
      const config = gateway.parts.config.current();
      const keys = config.keys.map((key) => ({ ...key, allow_from }));
      gateway.configure({ ...config, keys, server: { ...config.server, trust_proxy: proxies } });
      const headers: Record<string, string> = forwarded === '' ? {} : { 'x-forwarded-for': forwarded };
      return (await send(gateway, 'GET /v1/models', { key: 'ann', headers })).status;
    };
    assert.equal(await statusWith(['127.0.0.1', '10.0.0.0/8']), 200);
    assert.equal(await statusWith(['10.0.0.0/8']), 401);
    assert.equal(await statusWith(['10.0.0.0/8'], { forwarded: '10.1.2.3' }), 401);
    assert.equal(await statusWith(['10.0.0.0/8'], { forwarded: '10.1.2.3', proxies: ['loopback'] }), 200);
    assert.equal(await statusWith(['10.0.0.0/8'], { forwarded: '10.1.2.3, 8.8.8.8', proxies: ['loopback'] }), 401);
  });

  it('requires valid networks', () => {
    const { keys } = configSchema.shape;
    assert.match(
      keys.safeParse([{ id: 'a', secret: 'sk-a', allow_from: ['10.0.0.0/33'] }]).error?.message ?? '',
      /must be an IP address or a network such as/,
    );
  });
});

describe('a connection without a key', () => {
  it('is closed after its 401; pipelined requests get no answer', async () => {
    await using gateway = await openGateway();
    const one = 'GET /v1/models HTTP/1.1\r\nHost: a\r\n';
    const good = `${one}Authorization: Bearer ${KEYS.ann}\r\n\r\n`;
    const answer = await rawExchange(gateway, `${one}Authorization: Bearer sk-wrong\r\n\r\n${good}${good}`);
    assert.match(answer, /^HTTP\/1\.1 401 .*connection: close/is);
    assert.equal(answer.match(/HTTP\/1\.1/g)?.length, 1, answer);
  });

  it('is closed after a 401 even during an endless body', async () => {
    await using gateway = await openGateway();
    const socket = connect(Number(new URL(gateway.url).port), '127.0.0.1');
    await once(socket, 'connect');
    let received = '';
    socket.setEncoding('latin1').on('data', (text: string) => {
      received += text;
    });
    socket.on('error', () => {});
    const closed = once(socket, 'close');
    socket.write('POST /v1/responses HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n4\r\nabcd\r\n');
    const writing = setInterval(() => socket.write('4\r\nabcd\r\n'), 5);
    await closed;
    clearInterval(writing);
    assert.match(received, /^HTTP\/1\.1 401 /);
  });

  it('gets its complete 401 even while it still sends megabytes', async () => {
    await using gateway = await openGateway();
    const body = { model: 'deep', input: 'x'.repeat(8_000_000) };
    for (let n = 0; n < 5; n++) {
      const answer = await send(gateway, 'POST /v1/responses', { body, headers: { authorization: 'Bearer sk-wrong' } });
      assert.equal(answer.status, 401, answer.text);
      assert.match(answer.text, /invalid_api_key/);
    }
  });
});

describe('a key that is removed', () => {
  it("ends its streams without a terminal event; its run and other keys' streams continue", async () => {
    await using gateway = await openGateway();
    const body = { model: 'deep', input: 'wait', stream: true };
    const mine = await open(gateway, 'POST /v1/responses', { key: 'ann2', body });
    const other = await open(gateway, 'POST /v1/responses', { key: 'bob', body });
    await running(gateway, 2);
    removeKey(gateway, 'ann-2');
    const text = await mine.text();
    assert.match(text, /event: response\.created/);
    assert.doesNotMatch(text, /event: response\.(?:completed|failed|incomplete)/);
    assert.equal((await send(gateway, 'GET /v1/models', { key: 'ann2' })).status, 401);
    await gateway.release();
    await gateway.release();
    const ends = await other.text();
    assert.match(ends, /event: response\.completed/);
    // The other key of the same user still reads it.
    const id = /"id":"(resp_[^"]+)"/.exec(text)?.[1];
    const replay = await send(gateway, `GET /v1/responses/${id}?stream=true`, { key: 'ann' });
    assert.equal(eventsIn(replay).at(-1)?.type, 'response.completed');
  });

  it('gives waiting requests a 401, as does a key whose secret changed', async () => {
    await using gateway = await openGateway();
    const body = { model: 'deep', input: 'wait', stream: false };
    const waiting = send(gateway, 'POST /v1/responses', { key: 'ann2', body });
    await running(gateway, 1);
    const config = gateway.parts.config.current();
    const keys = config.keys.map((key) => (key.id === 'ann-2' ? { ...key, secret: 'sk-rotated' } : key));
    gateway.configure({ ...config, keys });
    const answer = await waiting;
    assert.equal(answer.status, 401, answer.text);
  });

  it('ends its chat completions and proxied streams', async () => {
    const passed = Promise.withResolvers<unknown>();
    await using gateway = await openGateway({
      proxy: ({ res, signal }) =>
        new Promise((_, reject) => {
          res.writeHead(200, { 'content-type': 'text/event-stream' }).write('data: {}\n\n');
          signal.addEventListener('abort', () => {
            passed.resolve(signal.reason);
            reject(signal.reason);
          });
        }),
    });
    const messages = [{ role: 'user', content: 'wait' }];
    const chat = await open(gateway, 'POST /v1/chat/completions', { key: 'bob', body: { model: 'gpt', messages } });
    const deep = send(gateway, 'POST /v1/chat/completions', { key: 'bob', body: { model: 'deep', messages } });
    await running(gateway, 1);
    removeKey(gateway, 'bob');
    assert.match(String(await passed.promise), /The API key was removed/);
    await assert.rejects(chat.text());
    assert.equal((await deep).status, 401);
  });

  it('a reload that keeps the key ends nothing', async () => {
    await using gateway = await openGateway();
    const stream = await open(gateway, 'POST /v1/responses', { body: { model: 'deep', input: 'wait', stream: true } });
    gateway.configure({ ...gateway.parts.config.current() });
    await gateway.release();
    assert.match(await stream.text(), /event: response\.completed/);
  });
});

describe('runs of a removed key', () => {
  for (const keysRemoved of ['keep', 'cancel'] as const) {
    it(`${keysRemoved === 'keep' ? 'continue' : 'are cancelled'} with runs.keys_removed: ${keysRemoved}`, async () => {
      const waits = Promise.withResolvers<void>();
      await using provider = await startScriptedProvider({
        respond: async () => {
          await waits.promise;
          return turn({ text: 'The answer.' });
        },
      });
      const second = { id: 'second', user: 'client', secret: 'sk-second' };
      await using gateway = await startGatewayOf(provider.url, { keysRemoved, keys: [second] });
      const ask = (path: string, key: string, body?: object) =>
        fetch(gateway.url + path, {
          method: body ? 'POST' : 'GET',
          headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json' },
          ...(body && { body: JSON.stringify(body) }),
        }).then(async (answer) => responseObject.partial().parse(await answer.json()));
      const { id } = await ask('/v1/responses', 'sk-second', { model: 'deep', input: 'why?', background: true });
      await provider.waitForRequest();
      await gateway.removeKey('second');
      if (keysRemoved === 'keep') waits.resolve();
      const status = await until(async () => {
        const run = await ask(`/v1/responses/${id}`, 'sk-client');
        return run.status === 'in_progress' ? undefined : run.status;
      });
      waits.resolve();
      assert.equal(status, keysRemoved === 'keep' ? 'completed' : 'cancelled');
    });
  }
});

async function startGatewayOf(url: string, { keysRemoved, keys }: { keysRemoved: string; keys: object[] }) {
  const config = configSchema.parse({
    server: { port: 0, shutdown_grace_seconds: 1 },
    store: { url: 'memory:' },
    runs: { keys_removed: keysRemoved },
    providers: { only: { base_url: url } },
    models: { deep: { kind: 'research', routes: [{ provider: 'only', model: 'm' }], research: { tools: [] } } },
    keys: [{ id: 'client', secret: 'sk-client' }, ...keys],
  });
  const gateway = await startGateway({ config, log: silentLogger, load: IDLE_LOAD });
  return {
    url: gateway.url,
    removeKey: (id: string) => gateway.reload({ ...config, keys: config.keys.filter((key) => key.id !== id) }),
    [Symbol.asyncDispose]: () => gateway[Symbol.asyncDispose](),
  };
}
