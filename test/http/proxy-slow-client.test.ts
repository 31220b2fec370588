import assert from 'node:assert/strict';
import { once } from 'node:events';
import { connect } from 'node:net';
import { setTimeout as delay } from 'node:timers/promises';
import { collectGarbage } from '../support/collect-garbage.ts';
import { CLIENT_KEY, chat, send, startProxyGateway } from '../support/proxy-gateway.ts';
import { startScriptedProvider } from '../support/scripted-provider.ts';
import { patience } from '../support/time-limit.ts';
import { startWebServer } from '../support/web-server.ts';

const PIECE = `data: ${JSON.stringify({ choices: [{ index: 0, delta: { content: 'x'.repeat(65_000) } }] })}\n\n`;
const LAST = 'data: {"choices":[{"index":0,"delta":{},"finish_reason":"stop"}]}\n\ndata: [DONE]\n\n';
/** 46 MB. A stalled client may get only what the buffers of two connections hold. */
const PIECES = 700;
const MAX_PIECES_ALONE = 500;
const MAX_PIECES_EACH = 200;
/** How many clients stop reading; the system buffers some megabytes for each. `STALLED_READERS=300` is the long form. */
const STALLED = Number(process.env.STALLED_READERS ?? 12);

/** A provider that sends all pieces as fast as they are read; `sent()` is the number of pieces so far. */
async function startFlood(type: string) {
  let sent = 0;
  const web = await startWebServer(async (req, res) => {
    req.resume();
    res.on('error', () => {});
    res.writeHead(200, { 'content-type': type });
    let taken = () => {};
    res.on('drain', () => taken()).on('close', () => taken());
    for (let n = 0; n < PIECES && !res.destroyed; n++) {
      sent++;
      if (!res.write(PIECE)) {
        await new Promise<void>((resolve) => {
          taken = resolve;
        });
      }
    }
    res.end(LAST);
  });
  return { ...web, url: `${web.origin}/v1`, sent: () => sent };
}

/** A provider whose whole answers are `bytes` long. */
async function startLarge(bytes: number) {
  const body = Buffer.from(JSON.stringify({ choices: [{ message: { content: 'x'.repeat(bytes) } }] }));
  const web = await startWebServer((req, res) => {
    req.resume();
    res.writeHead(200, { 'content-type': 'application/json' }).end(body);
  });
  return { ...web, url: `${web.origin}/v1`, length: body.length };
}

/** Bytes in buffers that survive garbage collection. */
function heldBytes(): number {
  collectGarbage();
  return process.memoryUsage().arrayBuffers;
}

describe('slow clients of answers that are not streamed', function () {
  // The clients are slow on purpose.
  this.timeout(patience(30));
  it('share bounded memory, and get every byte', async () => {
    await using provider = await startLarge(4 * 1024 * 1024);
    await using gateway = await startProxyGateway({ providers: { only: { url: provider.url } } });
    const { hostname, port } = new URL(gateway.url);
    const body = JSON.stringify(chat());
    const request = `POST /v1/chat/completions HTTP/1.1\r\nhost: x\r\nauthorization: Bearer ${CLIENT_KEY}\r\ncontent-type: application/json\r\ncontent-length: ${body.length}\r\nconnection: close\r\n\r\n${body}`;
    const before = heldBytes();
    // Garbage collection blocks the event loop, and a gateway that lags accepts no new work.
    while ((await fetch(new URL('/readyz', gateway.url))).status !== 200) await delay(20);
    const sockets = Array.from({ length: 24 }, () => connect({ host: hostname, port: Number(port) }));
    for (const socket of sockets) socket.pause().write(request);
    while (provider.requests.length < sockets.length) await delay(20);
    // All answers together exceed 96 MB.
    await whenStill(() => Math.round(process.memoryUsage().arrayBuffers / 1024 / 1024));
    const held = heldBytes() - before;
    assert.ok(held < 90 * 1024 * 1024, `${held} bytes`);
    const received = await Promise.all(
      sockets.map(async (socket) => {
        let length = 0;
        for await (const chunk of socket) length += chunk.length;
        return length;
      }),
    );
    for (const length of received) assert.ok(length > provider.length, `${length}`);
  });
});

describe('a slow proxy client', function () {
  // The clients are slow on purpose.
  this.timeout(patience(30));
  for (const [path, type] of [
    ['/chat/completions', 'text/event-stream'],
    ['/audio/speech', 'audio/mpeg'],
  ] as const) {
    it(`slows its provider down instead of filling memory, and gets every byte (${path})`, async () => {
      await using provider = await startFlood(type);
      // The provider is not at fault while the client does not read: this timeout must not end the stream.
      const idleMs = patience(0.4);
      await using gateway = await startProxyGateway({
        providers: { only: { url: provider.url, timeouts: { idle: idleMs / 1000 } } },
      });
      const { hostname, port } = new URL(gateway.url);
      const socket = connect({ host: hostname, port: Number(port) });
      const body = JSON.stringify(chat({ stream: true }));
      const head = [
        `POST /v1${path} HTTP/1.1`,
        'host: x',
        `authorization: Bearer ${CLIENT_KEY}`,
        'content-type: application/json',
        `content-length: ${body.length}`,
        'connection: close',
      ];
      socket.write(`${head.join('\r\n')}\r\n\r\n${body}`);
      await once(socket, 'readable');
      const stopped = await whenStill(provider.sent);
      await delay(idleMs);
      assert.ok(stopped < MAX_PIECES_ALONE, `${stopped} pieces were sent without a reader`);
      let received = 0;
      let end = '';
      for await (const chunk of socket) {
        received += chunk.length;
        end = (end + chunk.toString('latin1')).slice(-200);
      }
      assert.ok(received >= PIECES * PIECE.length, `${received} bytes`);
      assert.match(end, /\[DONE\]/);
    });
  }
});

/** How much memory a stalled client may hold, at both ends of its connections together, in bytes. */
const MAX_EACH = 2 * 1024 * 1024;

describe('many stalled clients', function () {
  // The clients are slow on purpose.
  this.timeout(patience(30));
  for (const continued of [false, true]) {
    it(`hold bounded memory each, while others are served (continue_streams: ${continued})`, async () => {
      await using provider = await startFlood('text/event-stream');
      await using small = await startScriptedProvider();
      const routes = [{ provider: 'only', model: 'm' }];
      await using gateway = await startProxyGateway({
        providers: { only: { url: provider.url }, small: { url: small.url } },
        models: {
          flood: { kind: 'proxy', routes, continue_streams: continued },
          other: { kind: 'proxy', routes: [{ provider: 'small', model: 'm' }] },
        },
      });
      const { hostname, port } = new URL(gateway.url);
      const body = JSON.stringify(chat({ model: 'flood', stream: true }));
      const request = `POST /v1/chat/completions HTTP/1.1\r\nhost: x\r\nauthorization: Bearer ${CLIENT_KEY}\r\ncontent-type: application/json\r\ncontent-length: ${body.length}\r\n\r\n${body}`;
      const before = heldBytes();
      const sockets = Array.from({ length: STALLED }, () => connect({ host: hostname, port: Number(port) }));
      for (const socket of sockets)
        socket
          .on('error', () => {})
          .pause()
          .write(request);
      await whenStill(provider.sent);
      let each = (heldBytes() - before) / STALLED;
      // Buffers are freed in the background, some time after garbage collection.
      for (let looks = 0; each >= MAX_EACH && looks < 20; looks++) {
        await delay(250);
        // Garbage collection is slow in a process that has run many tests.
        each = ((looks % 5 === 4 ? heldBytes() : process.memoryUsage().arrayBuffers) - before) / STALLED;
      }
      const out = provider.sent() / STALLED;
      assert.ok(each < MAX_EACH, `${each} bytes for each`);
      assert.ok(out < MAX_PIECES_EACH, `${out} pieces went out for each`);
      const answer = await send(gateway, '/chat/completions', { body: chat({ model: 'other', stream: true }) });
      assert.match(await answer.text(), /\[DONE\]/);
      for (const socket of sockets) socket.destroy();
    });
  }
});

/** The value once it has not changed for half a second. */
async function whenStill(look: () => number): Promise<number> {
  for (let last = -1; ; ) {
    const now = look();
    if (now === last && now > 0) return now;
    last = now;
    await delay(500);
  }
}
