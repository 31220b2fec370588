import assert from 'node:assert/strict';
import { once } from 'node:events';
import { connect, type Socket } from 'node:net';
import { bodyMemory } from '../../src/http/limits/bounds.ts';
import { assertRefused, rawExchange, send } from '../support/http-client.ts';
import { KEYS, openGateway, type TestGateway, until } from '../support/http-gateway.ts';

const head = (key: keyof typeof KEYS, lines: string, path = '/v1/embeddings') =>
  `POST ${path} HTTP/1.1\r\nHost: a\r\nAuthorization: Bearer ${KEYS[key]}\r\nContent-Type: application/json\r\n${lines}\r\n\r\n`;

async function dial({ url }: TestGateway): Promise<Socket> {
  const socket = connect(Number(new URL(url).port), '127.0.0.1');
  await once(socket, 'connect');
  return socket;
}

async function usedBytes({ parts }: TestGateway): Promise<number> {
  return Number(/^gateway_body_bytes (\d+)$/m.exec(await parts.registry.metrics())?.[1]);
}

/** Writes `length` bytes of a body that is announced as one byte longer. */
async function stall(gateway: TestGateway, key: keyof typeof KEYS, length: number): Promise<Socket> {
  const socket = await dial(gateway);
  socket.on('error', () => {});
  socket.write(`${head(key, `Content-Length: ${length + 1}`)}{"input":"${'x'.repeat(length - 10)}`);
  return socket;
}

describe('request bodies', () => {
  it('in chunks of one byte are refused early, without growing memory', async () => {
    await using gateway = await openGateway();
    const before = process.memoryUsage().rss;
    const socket = await dial(gateway);
    let received = '';
    socket.setEncoding('latin1').on('data', (text: string) => {
      received += text;
    });
    socket.on('error', () => {});
    socket.write(head('ann', 'Transfer-Encoding: chunked'));
    const block = Buffer.from('1\r\nx\r\n'.repeat(20_000));
    for (let n = 0; n < 100 && received === ''; n++) {
      if (!socket.write(block))
        await Promise.race([once(socket, 'drain'), once(socket, 'data'), once(socket, 'close')]);
    }
    await until(() => (received === '' ? undefined : true));
    assert.match(received, /^HTTP\/1\.1 400 .*chunks that are too small/s);
    assert.ok(process.memoryUsage().rss - before < 200e6, 'memory grew');
    socket.destroy();
  });

  it('in chunks of 100 bytes are read completely', async () => {
    await using gateway = await openGateway();
    const body = `{"model":"gpt","input":"${'x'.repeat(300_000)}"}`;
    const chunks: string[] = [];
    for (let at = 0; at < body.length; at += 100) chunks.push(body.slice(at, at + 100));
    const coded = chunks.map((chunk) => `${chunk.length.toString(16)}\r\n${chunk}\r\n`).join('');
    const lines = 'Connection: close\r\nTransfer-Encoding: chunked';
    const answer = await rawExchange(gateway, `${head('ann', lines)}${coded}0\r\n\r\n`);
    assert.match(answer, /^HTTP\/1\.1 200 /);
    assert.ok(gateway.calls[0]?.request.body.equals(Buffer.from(body)));
  });

  it('may begin with a byte order mark, which is not passed on', async () => {
    await using gateway = await openGateway();
    const research = { raw: '\ufeff{"model":"deep","input":"Hi","background":true}' };
    assert.equal((await send(gateway, 'POST /v1/responses', research)).status, 200);
    for (const path of ['/v1/chat/completions', '/v1/embeddings']) {
      const body = '{"model":"gpt","messages":[{"role":"user","content":"Hi"}],"input":"Hi"}';
      assert.equal((await send(gateway, `POST ${path}`, { raw: `\ufeff${body}` })).status, 200);
      assert.equal(gateway.calls.at(-1)?.request.body.toString(), body);
    }
  });

  it('share server.body_memory: 503 with retry-after beyond it, until memory is released', async () => {
    await using gateway = await openGateway({ server: { body_memory: '2mb', body_limit: '1mb' } });
    const ask = () =>
      send(gateway, 'POST /v1/embeddings', { key: 'bob', body: { model: 'gpt', input: 'y'.repeat(500_000) } });
    const sockets = [await stall(gateway, 'ann', 900_000), await stall(gateway, 'ann2', 900_000)];
    await until(async () => ((await usedBytes(gateway)) > 1_700_000 ? true : undefined));
    const refused = await ask();
    assertRefused(refused, { status: 503, code: 'overloaded' });
    assert.equal(refused.headers.get('retry-after'), '1');
    for (const socket of sockets) socket.destroy();
    await until(async () => ((await usedBytes(gateway)) === 0 ? true : undefined));
    assert.equal((await ask()).status, 200);
    await until(async () => ((await usedBytes(gateway)) === 0 ? true : undefined));
  });

  it('of one key use at most half of server.body_memory', async () => {
    await using gateway = await openGateway({ server: { body_memory: '2mb', body_limit: '1mb' } });
    const body = { model: 'gpt', input: 'y'.repeat(500_000) };
    const socket = await stall(gateway, 'ann', 900_000);
    await until(async () => ((await usedBytes(gateway)) > 800_000 ? true : undefined));
    assertRefused(await send(gateway, 'POST /v1/embeddings', { body }), { status: 503, code: 'overloaded' });
    assert.equal((await send(gateway, 'POST /v1/embeddings', { key: 'bob', body })).status, 200);
    socket.destroy();
  });

  it('above half of server.body_memory are too large, whatever server.body_limit allows: a retry would never help', async () => {
    await using gateway = await openGateway({ server: { body_memory: '1mb', body_limit: '1mb' } });
    const refused = await send(gateway, 'POST /v1/embeddings', { body: { model: 'gpt', input: 'y'.repeat(600_000) } });
    assertRefused(refused, { status: 413, code: 'request_too_large' });
    assert.match(refused.text, /524288/);
  });

  it('use memory for bytes received, not for their content-length', async () => {
    await using gateway = await openGateway({ server: { body_memory: '2mb', body_limit: '1mb' } });
    const sockets: Socket[] = [];
    for (let n = 0; n < 8; n++) {
      const socket = await dial(gateway);
      socket.on('error', () => {});
      socket.write(`${head('ann', 'Content-Length: 1000000')}{`);
      sockets.push(socket);
    }
    await until(async () => ((await usedBytes(gateway)) >= 8 * 16_384 ? true : undefined));
    assert.equal((await send(gateway, 'POST /v1/embeddings', { body: { model: 'gpt' } })).status, 200);
    for (const socket of sockets) socket.destroy();
  });
});

describe('bodyMemory', () => {
  it('releases the bytes of a body once', () => {
    const budget = bodyMemory(() => 100);
    const first = budget.open('a');
    const second = budget.open('b');
    first.grow(50);
    assert.throws(() => first.grow(1), /too many large requests/);
    second.grow(50);
    assert.throws(() => budget.open('c').grow(1), /too many large requests/);
    first[Symbol.dispose]();
    first[Symbol.dispose]();
    assert.equal(budget.held, 50);
    second[Symbol.dispose]();
    assert.equal(budget.held, 0);
  });
});
