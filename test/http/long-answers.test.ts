import assert from 'node:assert/strict';
import { once } from 'node:events';
import { IncomingMessage, type RequestListener, ServerResponse } from 'node:http';
import { connect, Socket } from 'node:net';
import { writeJson } from '../../src/http/answers/json.ts';
import { LongAnswers } from '../../src/http/limits/long-answers.ts';
import { collectGarbage } from '../support/collect-garbage.ts';
import { ended, send, submit } from '../support/http-client.ts';
import { KEYS, openGateway, type TestGateway, until } from '../support/http-gateway.ts';
import { patience } from '../support/time-limit.ts';
import { startWebServer } from '../support/web-server.ts';

async function held({ parts }: TestGateway): Promise<number> {
  return Number(/^gateway_held_answer_bytes (\d+)$/m.exec(await parts.registry.metrics())?.[1]);
}

/** Requests a response and reads nothing of it. */
async function stall(gateway: TestGateway, id: string): Promise<Socket> {
  const socket = connect(Number(new URL(gateway.url).port), '127.0.0.1');
  await once(socket, 'connect');
  socket.on('error', () => {});
  socket.pause();
  socket.write(`GET /v1/responses/${id} HTTP/1.1\r\nHost: a\r\nAuthorization: Bearer ${KEYS.ann}\r\n\r\n`);
  return socket;
}

describe('long answers', function () {
  // Large answers to many readers take a while.
  this.timeout(patience(30));
  it('share bounded memory; a new reader takes the place of a stalled one', async () => {
    await using gateway = await openGateway({ runs: { max_minutes: 10 } });
    const id = await submit(gateway, 'wide 5000');
    await ended(gateway, id);
    const whole = await send(gateway, `GET /v1/responses/${id}`);
    const bytes = Buffer.byteLength(whole.text);
    assert.ok(bytes > 4e6, `${bytes} bytes`);
    const fitting = Math.floor((128 * 1024 * 1024) / bytes);
    const sockets: Socket[] = [];
    for (let n = 0; n < fitting; n++) sockets.push(await stall(gateway, id));
    await until(async () => ((await held(gateway)) > (fitting - 1) * bytes ? true : undefined));
    collectGarbage();
    const before = process.memoryUsage();
    for (let n = 0; n < 3; n++) {
      // A new reader is answered although there is no room left: a stalled one is disconnected.
      const answer = await until(async () => {
        const asked = await send(gateway, `GET /v1/responses/${id}`);
        return asked.status === 503 ? undefined : asked;
      });
      assert.equal(answer.text.length, whole.text.length);
    }
    assert.ok((await held(gateway)) <= 128 * 1024 * 1024);
    // Bodies buffered for sockets would survive garbage collection; what this test read does not.
    await until(() => {
      collectGarbage();
      const { arrayBuffers, external } = process.memoryUsage();
      return external + arrayBuffers - before.external - before.arrayBuffers < 64e6 ? true : undefined;
    });
    for (const socket of sockets) socket.destroy();
    await until(async () => ((await held(gateway)) === 0 ? true : undefined));
  });

  it('are written in pieces without breaking characters; HEAD has the content-length', async () => {
    const held = new LongAnswers({ limit: 1e9 });
    let body = '';
    const answer: RequestListener = (_req, res) => void writeJson(res, { status: 200, headers: {}, body }, held);
    await using server = await startWebServer(answer);
    const url = `${server.origin}/`;
    for (const before of [0, 1, 2, 3]) {
      body = `${'x'.repeat(before)}${'\u{1F600}\u00fc'.repeat(150_000)}`;
      assert.equal(await (await fetch(url)).text(), body);
    }
    const head = await fetch(url, { method: 'HEAD' });
    assert.equal(head.headers.get('content-length'), String(Buffer.byteLength(body)));
    assert.equal(held.total, 0);
  });
});

describe('LongAnswers', function () {
  // Large answers to many readers take a while.
  this.timeout(patience(30));
  const response = () => new ServerResponse(new IncomingMessage(new Socket()));

  it('refuses more if nobody stalls, else disconnects the longest stalled reader', () => {
    let now = 0;
    const texts = new LongAnswers({ limit: 100, now: () => now });
    const [first, second, third] = [response(), response(), response()];
    const a = texts.reserve(first, 50);
    texts.reserve(second, 50);
    assert.throws(() => texts.reserve(third, 10), /Too many long answers/);
    now = 1500;
    a.moved();
    texts.reserve(third, 10);
    assert.deepEqual([first.destroyed, second.destroyed, texts.total], [false, true, 60]);
    a[Symbol.dispose]();
    a[Symbol.dispose]();
    assert.equal(texts.total, 10);
  });

  it('lets an answer larger than the limit through if it is alone', () => {
    const texts = new LongAnswers({ limit: 100 });
    using _ = texts.reserve(response(), 1000);
    assert.throws(() => texts.reserve(response(), 1), /Too many long answers/);
  });
});
