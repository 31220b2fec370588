import assert from 'node:assert/strict';
import { once } from 'node:events';
import { type IncomingMessage, request, type ServerResponse } from 'node:http';
import { connect, type Socket } from 'node:net';
import { brotliCompressSync, deflateRawSync, deflateSync, gzipSync, zstdCompressSync } from 'node:zlib';
import { CLIENT_KEY, type ProxyGateway, send, startProxyGateway } from '../support/proxy-gateway.ts';
import { startWebServer } from '../support/web-server.ts';

const SECRET = 'sk-secret-of-the-provider-0123456789';
/** A credential in the query of the base URL. */
const PARAMETER = 'parameter/of=the+operator';
const BLANK = '*'.repeat(SECRET.length);
const QUOTE = `before ${SECRET} after ${SECRET}`;
const MASKED = `before ${BLANK} after ${BLANK}`;

const CODINGS: Readonly<Record<string, (text: string) => Buffer>> = {
  gzip: (text) => gzipSync(text),
  'x-gzip': (text) => gzipSync(text),
  deflate: (text) => deflateSync(text),
  // Raw deflate, as some servers send it.
  Deflate: (text) => deflateRawSync(text),
  br: (text) => brotliCompressSync(text),
  zstd: (text) => zstdCompressSync(text),
  'gzip, br': (text) => brotliCompressSync(gzipSync(text)),
  identity: (text) => Buffer.from(text),
};

/** A frame of a WebSocket as providers send it. */
function frame(text: string | Buffer, { opcode = 1, fin = true }: { opcode?: number; fin?: boolean } = {}): Buffer {
  const payload = Buffer.from(text);
  const first = (fin ? 0x80 : 0) | opcode;
  if (payload.length < 126) return Buffer.concat([Buffer.from([first, payload.length]), payload]);
  const head = Buffer.alloc(payload.length < 65_536 ? 4 : 10);
  head[0] = first;
  if (head.length === 4) {
    head[1] = 126;
    head.writeUInt16BE(payload.length, 2);
  } else {
    head[1] = 127;
    head.writeBigUInt64BE(BigInt(payload.length), 2);
  }
  return Buffer.concat([head, payload]);
}

/** What the provider sends on a WebSocket, in network chunks. */
let said: Buffer[] = [];
let respond: (req: IncomingMessage, res: ServerResponse) => void = () => {};

async function startProvider() {
  const upgrades: IncomingMessage[] = [];
  const web = await startWebServer((req, res) => respond(req, res));
  web.server.on('upgrade', (req, socket: Socket) => {
    upgrades.push(req);
    socket.on('error', () => {});
    void speak(socket);
  });
  return { ...web, url: `${web.origin}/v1`, upgrades };
}

async function speak(socket: Socket): Promise<void> {
  const lines = ['HTTP/1.1 101 Switching Protocols', 'upgrade: websocket', 'connection: upgrade'];
  const headers = [`sec-websocket-protocol: ${SECRET}`, `x-request-id: ${SECRET}`, 'sec-websocket-extensions: x-quote'];
  socket.setNoDelay(true);
  for (const chunk of [Buffer.from(`${[...lines, ...headers].join('\r\n')}\r\n\r\n`), ...said]) {
    await new Promise((resolve) => socket.write(chunk, resolve));
    await new Promise((resolve) => setImmediate(resolve));
  }
  socket.end();
}

describe('a quoted provider credential', () => {
  const stack = new AsyncDisposableStack();
  let provider: Awaited<ReturnType<typeof startProvider>>;
  let gateway: ProxyGateway;
  before(async () => {
    provider = stack.use(await startProvider());
    gateway = stack.use(
      await startProxyGateway({
        providers: {
          only: { url: provider.url, apiKey: SECRET },
          query: { url: `${provider.url}?key=${encodeURIComponent(PARAMETER)}` },
        },
        models: {
          spoken: { kind: 'proxy', apis: ['audio'], routes: [{ provider: 'only', model: 'm' }] },
          'by-query': { kind: 'proxy', routes: [{ provider: 'query', model: 'm' }] },
        },
        passthrough: [
          { path: '/v1/files', provider: 'only' },
          { path: '/v1/realtime', provider: 'only', websocket: true },
        ],
        key: { passthrough: 'all' },
      }),
    );
  });
  after(() => stack.disposeAsync());

  const get = async (headers: Record<string, string> = {}) => {
    const sent = request(`${gateway.url}/files/x`, { headers: { authorization: `Bearer ${CLIENT_KEY}`, ...headers } });
    const [answer] = await once(sent.end(), 'response');
    const body = Buffer.concat(await Array.fromAsync(answer)).toString();
    return { status: answer.statusCode, headers: answer.headers, trailers: answer.trailers, body };
  };

  for (const [coding, compress] of Object.entries(CODINGS)) {
    for (const status of [200, 400]) {
      it(`is masked in an answer with status ${status} and content coding ${coding}`, async () => {
        respond = (_, res) => {
          const body = compress(QUOTE);
          res.writeHead(status, { 'content-encoding': coding, 'content-length': body.length });
          res.write(body.subarray(0, 20));
          res.end(body.subarray(20));
        };
        const answer = await get({ 'accept-encoding': 'gzip, br' });
        assert.deepEqual([answer.status, answer.body], [status, MASKED]);
        assert.ok([undefined, 'identity'].includes(answer.headers['content-encoding']));
      });
    }
  }

  for (const cut of [SECRET.slice(0, -1), `\\u0073${SECRET.slice(1, 12)}\\u00`]) {
    it(`is masked if the answer ends inside it: ${cut}`, async () => {
      const text = `before ${cut}`;
      const expected = `before ${'*'.repeat(cut.length)}`;
      for (const status of [200, 400]) {
        respond = (_, res) => void res.writeHead(status, { 'content-type': 'text/plain' }).end(text);
        assert.equal((await get()).body, expected);
        const proxied = await send(gateway, '/audio/transcriptions', { body: { model: 'spoken' } });
        assert.equal(await proxied.text(), expected);
      }
    });
  }

  it('leaves the end of an answer alone that could be any word', async () => {
    for (const end of [SECRET.slice(0, 7), '\\'.repeat(20)]) {
      respond = (_, res) => void res.end(`before ${end}`);
      assert.equal((await get()).body, `before ${end}`);
    }
  });

  it('is masked in headers and trailers', async () => {
    respond = (_, res) => {
      res.writeHead(200, { trailer: 'x-told', etag: `"${SECRET}"`, 'x-request-id': SECRET, 'openai-version': SECRET });
      res.addTrailers({ 'x-told': SECRET });
      res.end('hello');
    };
    const { headers, trailers, body } = await get();
    assert.deepEqual(
      [headers.etag, headers['x-upstream-request-id'], trailers['x-told']],
      [`"${BLANK}"`, BLANK, BLANK],
    );
    assert.deepEqual([headers['openai-version'], body], [BLANK, 'hello']);
  });

  it('is masked if it is in the query of the base URL, in every JSON escape', async () => {
    const parts = [PARAMETER, encodeURIComponent(PARAMETER), PARAMETER.replaceAll('/', '\\/').replace('p', '\\u0070')];
    respond = (req, res) =>
      void res
        .writeHead(404, { 'content-type': 'application/json', 'x-request-id': PARAMETER })
        .end(`{"error":{"message":"no route ${req.url} ${parts.join(' ')}"}}`);
    for (const stream of [false, true]) {
      const body = { model: 'by-query', messages: [{ role: 'user', content: 'hello' }], stream };
      const answer = await send(gateway, '/chat/completions', { body });
      const { error } = JSON.parse(await answer.text());
      const seen = `${error.message} ${[...answer.headers].join(' ')} ${gateway.log.join('')}`;
      assert.match(seen, /no route \/v1\/chat\/completions/);
      assert.doesNotMatch(seen, /the.{0,6}operator/);
    }
  });

  it('is not passed on in codings that cannot be decoded: 502', async () => {
    for (const [coding, status] of [
      ['aws-chunked', 200],
      ['gzip', 206],
      ['compress', 400],
      ['gzip, gzip, gzip, gzip', 200],
    ] as const) {
      respond = (_, res) => void res.writeHead(status, { 'content-encoding': coding }).end(gzipSync(QUOTE));
      const answer = await get();
      assert.equal(answer.status, 502, coding);
      assert.match(answer.body, /content coding that was not asked for/);
    }
  });

  it('is masked in errors up to a megabyte; longer ones become a 502', async () => {
    for (const [length, status] of [
      [1024 * 1024, 400],
      [1024 * 1024 + 1, 502],
    ] as const) {
      respond = (_, res) => void res.writeHead(400).end(SECRET + 'x'.repeat(length - SECRET.length));
      const answer = await get();
      assert.equal(answer.status, status);
      assert.ok(!answer.body.includes(SECRET));
    }
  });

  it('breaks the connection or becomes a 502 in truncated compression', async () => {
    const half = gzipSync(Buffer.alloc(1_000_000, 'abc')).subarray(0, 500);
    respond = (_, res) => void res.writeHead(200, { 'content-encoding': 'gzip' }).end(half);
    await assert.rejects(get());
    respond = (_, res) => void res.writeHead(500, { 'content-encoding': 'gzip' }).end(half);
    assert.equal((await get()).status, 502);
  });

  it('is never requested compressed; answers without a body stay unchanged', async () => {
    let asked: string | undefined;
    respond = (req, res) => {
      asked = req.headers['accept-encoding'];
      res.writeHead(304, { 'content-encoding': 'gzip', etag: '"a"' }).end();
    };
    const answer = await get({ 'accept-encoding': 'gzip', 'if-none-match': '"a"' });
    assert.deepEqual([answer.status, answer.headers.etag, asked], [304, '"a"', 'identity']);
  });

  /** Everything a client gets on a WebSocket: its head as text, its frames as bytes. */
  async function listen(): Promise<{ head: string; frames: Buffer }> {
    const { hostname, port } = new URL(gateway.url);
    const socket = connect({ host: hostname, port: Number(port) });
    const lines = ['GET /v1/realtime HTTP/1.1', 'host: x', 'connection: upgrade', 'upgrade: websocket'];
    lines.push(`authorization: Bearer ${CLIENT_KEY}`, 'sec-websocket-extensions: permessage-deflate');
    socket.write(`${lines.join('\r\n')}\r\n\r\n`);
    const got = Buffer.concat(await Array.fromAsync(socket));
    const end = got.indexOf('\r\n\r\n') + 4;
    return { head: got.subarray(0, end).toString(), frames: got.subarray(end) };
  }

  it('is masked in a WebSocket handshake, which negotiates no compression', async () => {
    said = [];
    const { head } = await listen();
    assert.match(head, /^HTTP\/1\.1 101 /);
    assert.ok(!head.includes(SECRET), head);
    assert.doesNotMatch(head, /extensions/i);
    assert.equal(provider.upgrades.at(-1)?.headers['sec-websocket-extensions'], undefined);
  });

  const long = 'x'.repeat(70_000);
  const SPOKEN: Readonly<Record<string, (quote: string) => Buffer[]>> = {
    'a short frame': (quote) => [frame(quote)],
    'frames of every length': (quote) => [frame(quote), frame(quote + long.slice(0, 300)), frame(long + quote)],
    'a binary frame': (quote) => [frame(quote, { opcode: 2 })],
    'a message in fragments': (quote) => [
      frame(quote.slice(0, 12), { fin: false }),
      frame('', { opcode: 0, fin: false }),
      frame(quote.slice(12, 30), { opcode: 0, fin: false }),
      frame(quote.slice(30), { opcode: 0 }),
    ],
    'a message with pings in it': (quote) => [
      frame(quote.slice(0, 20), { fin: false }),
      frame(quote.slice(0, 43), { opcode: 9 }),
      frame(quote.slice(20), { opcode: 0 }),
    ],
    'the reason of a close': (quote) => [frame(quote, { opcode: 8 })],
    'the reason of a close that is cut inside it': (quote) => [frame(quote.slice(0, 30), { opcode: 8 })],
    'messages after one that ends with the start of the credential': (quote) => [
      frame(quote === MASKED ? BLANK.slice(0, 20) : SECRET.slice(0, 20)),
      frame(quote),
    ],
  };
  for (const [what, spoken] of Object.entries(SPOKEN)) {
    it(`is masked in ${what}, however TCP splits it`, async () => {
      const bytes = Buffer.concat(spoken(QUOTE));
      const expected = Buffer.concat(spoken(MASKED));
      const single = Array.from({ length: Math.min(bytes.length, 500) }, (_, at) => bytes.subarray(at, at + 1));
      const cuts = [[bytes], [...single, bytes.subarray(single.length)], [bytes.subarray(0, 25), bytes.subarray(25)]];
      for (const chunks of cuts) {
        said = chunks;
        const { frames } = await listen();
        assert.ok(frames.equals(expected), frames.toString('latin1').slice(0, 200));
      }
    });
  }

  it('is not passed on in compressed or masked frames or after endless pings: the WebSocket ends', async () => {
    const compressed = frame(deflateRawSync(QUOTE));
    compressed[0] = 0xc1;
    const masked = Buffer.concat([Buffer.from([0x81, 0x84, 0, 0, 0, 0]), Buffer.from('text')]);
    const pings = Buffer.concat(Array.from({ length: 5000 }, () => frame('', { opcode: 9 })));
    const endless = [frame(SECRET.slice(0, 9), { fin: false }), pings, frame(SECRET.slice(9), { opcode: 0 })];
    for (const bad of [[compressed], [masked], endless]) {
      said = [frame('good'), ...bad, frame('bad')];
      const { frames } = await listen();
      const text = frames.toString('latin1');
      assert.ok(text.includes('good') && !text.includes('bad') && !text.includes(SECRET.slice(9)), text.slice(0, 200));
    }
  });
});
