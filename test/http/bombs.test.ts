import assert from 'node:assert/strict';
import { once } from 'node:events';
import { connect } from 'node:net';
import { setTimeout as delay } from 'node:timers/promises';
import { isSlow } from '../support/fair-time.ts';
import {
  type GatewayProcess,
  gatewayFolder,
  probe,
  residentMemory,
  startGatewayProcess,
} from '../support/gateway-process.ts';
import { answerBombs, type RequestBomb, requestBombs, streamBombs } from '../support/request-bombs.ts';
import { raw, type ScriptedProvider, startScriptedProvider, turn } from '../support/scripted-provider.ts';
import { patience } from '../support/time-limit.ts';

const KEY = 'sk-of-the-attacker';
const MB = 1024 * 1024;
/** The longest that a step of the event loop may take, in milliseconds of CPU time. */
const MAX_STEP_MS = 200;
/** How much resident memory may grow during an attack, and how much live memory may remain after it, in bytes. */
const MAX_GROWTH = 240 * MB;
const MAX_LEFT = 30 * MB;

/** A WebSocket close frame with a mask of zeros. */
const CLOSING = Buffer.from([0x88, 0x80, 0, 0, 0, 0]);

/** Polls /healthz and measures how long each answer takes, in milliseconds. */
function pollHealth(url: string) {
  const waits: number[] = [];
  const ending = new AbortController();
  const asking = (async () => {
    while (!ending.signal.aborted) {
      const began = performance.now();
      const answer = await fetch(`${url}/healthz`);
      assert.equal(answer.status, 200);
      await answer.arrayBuffer();
      waits.push(performance.now() - began);
      await delay(50);
    }
  })();
  return {
    async end() {
      ending.abort();
      await asking;
      waits.sort((a, b) => a - b);
      const at = (share: number) => Math.round(waits[Math.floor((waits.length - 1) * share)] ?? 0);
      return { count: waits.length, p99: at(0.99), longest: at(1) };
    },
  };
}

/** Sends the request. Returns the status; 0 if the gateway closed the connection. */
function drop(url: string, bomb: RequestBomb): Promise<number> {
  const { method = 'POST', path, body = '', headers = {}, chunks } = bomb;
  const lines = {
    Host: 'a',
    Authorization: `Bearer ${KEY}`,
    'Content-Type': 'application/json',
    Connection: 'close',
    ...headers,
    ...(chunks ? { 'Transfer-Encoding': 'chunked' } : { 'Content-Length': String(Buffer.byteLength(body)) }),
  };
  const head = Object.entries(lines).map(([name, value]) => `${name}: ${value}\r\n`);
  return new Promise((resolve) => {
    const socket = connect(Number(new URL(url).port), '127.0.0.1');
    let received = '';
    socket.setEncoding('latin1').on('data', (text: string) => {
      if (received.length < 1000) received += text;
    });
    socket.on('error', () => {});
    socket.on('close', () => resolve(Number(received.split(' ')[1] ?? 0)));
    socket.write(`${method} ${path} HTTP/1.1\r\n${head.join('')}\r\n`);
    for (const piece of chunks?.() ?? [body]) if (!socket.destroyed) socket.write(piece);
  });
}

describe('a gateway under attack', function () {
  // Bombs are sent one after the other.
  this.timeout(patience(30));
  let gateway: GatewayProcess;
  let provider: ScriptedProvider;
  let calm: { p99: number; longest: number };
  let liveAtRest = 0;
  const stack = new AsyncDisposableStack();

  before(async () => {
    provider = stack.use(await startScriptedProvider());
    const folder = stack.use(await gatewayFolder());
    const routes = [{ provider: 'only', model: 'm' }];
    gateway = stack.use(
      await startGatewayProcess(
        {
          server: { port: 0 },
          store: { url: 'memory:' },
          providers: { only: { base_url: provider.url, max_retries: 0, timeouts: { first_byte: 5, idle: 5 } } },
          models: {
            fast: {
              kind: 'proxy',
              responses: 'native',
              routes,
              apis: ['chat_completions', 'responses', 'embeddings', 'audio', 'async'],
            },
            deep: { kind: 'research', routes, research: { tools: ['web_search'] } },
          },
          keys: [{ id: 'attacker', secret: KEY, mcp_servers: true }],
        },
        { folder: folder.path, probed: true },
      ),
    );
    // Modules that the first run loads should not count as a slow step of an attack.
    const first = await fetch(`${gateway.url}/v1/chat/completions`, {
      method: 'POST',
      headers: { authorization: `Bearer ${KEY}`, 'content-type': 'application/json' },
      body: JSON.stringify({ model: 'deep', messages: [{ role: 'user', content: 'Where is it?' }] }),
    });
    await first.text();
    liveAtRest = (await probe(gateway, 'memory')).live;
    const resting = pollHealth(gateway.url);
    await delay(1000);
    calm = await resting.end();
    await probe(gateway, 'step');
  });
  after(() => stack.disposeAsync());

  /** Steps of the gateway's event loop that took too long, with their cause. */
  const slow: string[] = [];
  async function noteStep(cause: string): Promise<void> {
    const { stepMs } = await probe(gateway, 'step');
    if (isSlow(stepMs, MAX_STEP_MS)) slow.push(`${cause}: ${Math.round(stepMs)} ms`);
  }

  /** Asserts that no step was slow and memory was freed; `before` and `most`: resident bytes before and at most. */
  async function assertCalm(before: number, most: number, beats: { count: number }): Promise<void> {
    // Wait for runs that are still in progress.
    let { live } = await probe(gateway, 'memory');
    for (let tries = 0; tries < 40 && live - liveAtRest > MAX_LEFT; tries++) {
      await delay(500);
      ({ live } = await probe(gateway, 'memory'));
    }
    const shown = `calm ${JSON.stringify(calm)}, attacked ${JSON.stringify(beats)}, memory +${Math.round((most - before) / MB)} MB, live ${Math.round(live / MB)} MB`;
    console.log(`      ${shown}`);
    assert.deepEqual(slow, [], shown);
    assert.ok(beats.count > 0, shown);
    assert.ok(most - before < MAX_GROWTH, shown);
    assert.ok(live - liveAtRest < MAX_LEFT, shown);
  }

  it('answers /healthz during hostile requests, and answers them with documented statuses', async () => {
    const before = await residentMemory(gateway);
    const polling = pollHealth(gateway.url);
    const odd: string[] = [];
    let most = 0;
    for (const bomb of requestBombs()) {
      const status = await drop(gateway.url, bomb);
      most = Math.max(most, await residentMemory(gateway));
      await noteStep(bomb.name);
      if (![200, 201, 400, 404, 405, 413, 415, 429, 502, 503, 504].includes(status))
        odd.push(`${bomb.name}: ${status}`);
    }
    assert.deepEqual(odd, []);
    await assertCalm(before, most, await polling.end());
  });

  it('answers /healthz while a provider sends hostile streams, for both kinds of model', async () => {
    const before = await residentMemory(gateway);
    const polling = pollHealth(gateway.url);
    let most = 0;
    for (const { name, body } of streamBombs()) {
      provider.respond = () => raw(body);
      for (const model of ['fast', 'deep']) {
        const request = { model, stream: true, messages: [{ role: 'user', content: 'Where is it?' }] };
        const answer = await fetch(`${gateway.url}/v1/chat/completions`, {
          method: 'POST',
          headers: { authorization: `Bearer ${KEY}`, 'content-type': 'application/json' },
          body: JSON.stringify(request),
          signal: AbortSignal.timeout(patience(30)),
        }).catch((error: unknown) => assert.fail(`${name} (${model}): ${error}`));
        await answer.text().catch(() => '');
        await noteStep(`${name} (${model})`);
        most = Math.max(most, await residentMemory(gateway));
      }
    }
    provider.respond = () => turn();
    await assertCalm(before, most, await polling.end());
  });

  it('answers /healthz during 16 concurrent huge answers, and passes no error on as an answer', async () => {
    const before = await residentMemory(gateway);
    const polling = pollHealth(gateway.url);
    let most = 0;
    for (const { name, status = 200, expected = 200, body } of answerBombs()) {
      provider.respond = () => raw(body, { status, headers: { 'content-type': 'application/json' } });
      const asking = Array.from({ length: 16 }, async () => {
        const answer = await fetch(`${gateway.url}/v1/chat/completions`, {
          method: 'POST',
          headers: { authorization: `Bearer ${KEY}`, 'content-type': 'application/json' },
          body: JSON.stringify({ model: 'fast', messages: [{ role: 'user', content: 'Where is the harbour?' }] }),
        });
        await answer.arrayBuffer();
        return answer.status;
      });
      const statuses = [...new Set(await Promise.all(asking))];
      assert.deepEqual(statuses, [expected], name);
      most = Math.max(most, await residentMemory(gateway));
      await noteStep(name);
    }
    provider.respond = () => turn();
    await assertCalm(before, most, await polling.end());
  });

  it('answers /healthz during 20 000 pipelined requests', async () => {
    const before = await residentMemory(gateway);
    const polling = pollHealth(gateway.url);
    const auth = `Host: a\r\nAuthorization: Bearer ${KEY}\r\n`;
    for (const request of [
      'GET /healthz HTTP/1.1\r\nHost: a\r\n\r\n',
      `GET /v1/models HTTP/1.1\r\n${auth}\r\n`,
      `POST /v1/responses HTTP/1.1\r\n${auth}Content-Type: application/json\r\nContent-Length: 1\r\n\r\n{`,
    ]) {
      const socket = connect(Number(new URL(gateway.url).port), '127.0.0.1').on('error', () => {});
      const closed = new Promise((resolve) => socket.once('close', resolve));
      socket.resume().write(request.repeat(20_000));
      await closed;
      await noteStep(request);
    }
    await assertCalm(before, await residentMemory(gateway), await polling.end());
  });

  it('answers /healthz while a WebSocket sends 10 000 frames at once', async () => {
    const before = await residentMemory(gateway);
    const polling = pollHealth(gateway.url);
    const socket = connect(Number(new URL(gateway.url).port), '127.0.0.1').on('error', () => {});
    const closed = new Promise((resolve) => socket.once('close', resolve));
    socket.write(
      `GET /v1/responses HTTP/1.1\r\nHost: a\r\nAuthorization: Bearer ${KEY}\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n` +
        'Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n\r\n',
    );
    await once(socket, 'data');
    // Text frames of one letter with a mask of zeros, then a close frame.
    socket.write(Buffer.concat([Buffer.from('\x81\x81\0\0\0\0x'.repeat(10_000), 'latin1'), CLOSING]));
    socket.resume();
    await closed;
    await noteStep('frames');
    await assertCalm(before, await residentMemory(gateway), await polling.end());
  });
});
