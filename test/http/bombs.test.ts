import assert from 'node:assert/strict';
import { readFile } from 'node:fs/promises';
import { connect } from 'node:net';
import { setTimeout as delay } from 'node:timers/promises';
import { type GatewayProcess, gatewayFolder, startGatewayProcess } from '../support/gateway-process.ts';
import { type RequestBomb, requestBombs, streamBombs } from '../support/request-bombs.ts';
import { raw, type ScriptedProvider, startScriptedProvider, turn } from '../support/scripted-provider.ts';

const KEY = 'sk-of-the-attacker';
const MB = 1024 * 1024;

/** Asks /healthz again and again and keeps how long each answer took, in milliseconds. */
function pulse(url: string) {
  const waits: number[] = [];
  const ending = new AbortController();
  const asking = (async () => {
    while (!ending.signal.aborted) {
      const began = performance.now();
      const answer = await fetch(`${url}/healthz`);
      assert.equal(answer.status, 200);
      await answer.arrayBuffer();
      waits.push(performance.now() - began);
      await delay(10);
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

/** Status of the answer; 0 where the gateway closed the connection. */
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

async function memory({ child }: GatewayProcess): Promise<number> {
  const status = await readFile(`/proc/${child.pid}/status`, 'utf8').catch(() => '');
  return Number(/^VmRSS:\s+(\d+) kB$/m.exec(status)?.[1] ?? 0) * 1024;
}

describe('a gateway under attack', () => {
  let gateway: GatewayProcess;
  let provider: ScriptedProvider;
  let calm: { p99: number; longest: number };
  const stack = new AsyncDisposableStack();

  before(async function () {
    this.timeout(60_000);
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
            fast: { kind: 'proxy', routes, apis: ['chat_completions', 'responses', 'embeddings', 'audio', 'async'] },
            deep: { kind: 'research', routes, research: { tools: ['web_search'] } },
          },
          keys: [{ id: 'attacker', secret: KEY, mcp_servers: true }],
        },
        { folder: folder.path },
      ),
    );
    const resting = pulse(gateway.url);
    await delay(1000);
    calm = await resting.end();
  });
  after(() => stack.disposeAsync());

  /** What the busiest step may take on this machine, as busy as it is: bombs that are not bounded take many seconds. */
  const bearable = () => 600 + 8 * calm.longest;

  it('answers /healthz while every bomb of requests is dropped, and gives documented answers', async () => {
    const before = await memory(gateway);
    const beating = pulse(gateway.url);
    const odd: string[] = [];
    let most = 0;
    for (const bomb of requestBombs()) {
      const status = await drop(gateway.url, bomb);
      most = Math.max(most, await memory(gateway));
      if (![200, 201, 400, 404, 405, 413, 415, 429, 502, 503, 504].includes(status))
        odd.push(`${bomb.name}: ${status}`);
    }
    const beats = await beating.end();
    assert.deepEqual(odd, []);
    const shown = `calm ${JSON.stringify(calm)}, attacked ${JSON.stringify(beats)}, memory +${Math.round((most - before) / MB)} MB`;
    assert.ok(beats.longest < bearable(), shown);
    assert.ok(most - before < 400 * MB, shown);
  }).timeout(120_000);

  it('answers /healthz while a provider sends every bomb of streams, to both kinds of model', async () => {
    const before = await memory(gateway);
    const beating = pulse(gateway.url);
    let most = 0;
    for (const { name, body } of streamBombs()) {
      provider.respond = () => raw(body);
      for (const model of ['fast', 'deep']) {
        const request = { model, stream: true, messages: [{ role: 'user', content: 'Where is it?' }] };
        const answer = await fetch(`${gateway.url}/v1/chat/completions`, {
          method: 'POST',
          headers: { authorization: `Bearer ${KEY}`, 'content-type': 'application/json' },
          body: JSON.stringify(request),
          signal: AbortSignal.timeout(20_000),
        }).catch((error: unknown) => assert.fail(`${name} (${model}): ${error}`));
        await answer.text().catch(() => '');
        most = Math.max(most, await memory(gateway));
      }
    }
    provider.respond = () => turn();
    const beats = await beating.end();
    const shown = `calm ${JSON.stringify(calm)}, attacked ${JSON.stringify(beats)}, memory +${Math.round((most - before) / MB)} MB`;
    assert.ok(beats.longest < bearable(), shown);
    assert.ok(most - before < 400 * MB, shown);
  }).timeout(180_000);
});
