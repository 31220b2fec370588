import assert from 'node:assert/strict';
import { once } from 'node:events';
import { connect, createServer, type Socket } from 'node:net';
import { rawExchange } from '../support/http-client.ts';
import { until } from '../support/http-gateway.ts';
import { CLIENT_KEY, type ProxyGateway, startProxyGateway } from '../support/proxy-gateway.ts';

const SECRET = 'sk-operator-secret-0123456789';
const CHUNKED = 'HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\ncontent-type: application/json\r\n';
const PIECE = `10000\r\n${'x'.repeat(0x10000)}\r\n`;

const FINE = JSON.stringify({
  choices: [{ message: { content: 'fine' }, finish_reason: 'stop' }],
  data: [{ embedding: [1] }],
});
const TWICE = (header: string) =>
  `HTTP/1.1 200 OK\r\n${header}\r\n${header}\r\nx-request-id: a\r\nx-request-id: b\r\nconnection: close\r\ncontent-length: ${FINE.length}\r\n\r\n${FINE}`;

/** What a hostile provider answers, by name. */
const ANSWERS: Record<string, (socket: Socket) => void> = {
  'status 000': (socket) => socket.end('HTTP/1.1 000 X\r\ncontent-length: 2\r\n\r\n{}'),
  'status 099': (socket) => socket.end('HTTP/1.1 099 X\r\ncontent-length: 2\r\n\r\n{}'),
  'status 199': (socket) => socket.end('HTTP/1.1 199 X\r\ncontent-length: 2\r\n\r\n{}'),
  'status 600': (socket) => socket.end('HTTP/1.1 600 X\r\ncontent-length: 2\r\n\r\n{}'),
  'status 999': (socket) => socket.end('HTTP/1.1 999 X\r\ncontent-length: 2\r\n\r\n{}'),
  'another protocol': (socket) =>
    socket.end('HTTP/1.1 101 Switching Protocols\r\nconnection: upgrade\r\nupgrade: h2c\r\n\r\nhello'),
  'interim answers without end': (socket) => endless(socket, 'HTTP/1.1 103 Early\r\nlink: a\r\n\r\n'.repeat(100)),
  'a head without end': (socket) => {
    socket.write('HTTP/1.1 200 OK\r\n');
    const timer = setInterval(() => socket.write('x: y\r\n'), 20);
    socket.on('close', () => clearInterval(timer));
  },
  'a header of 20 KB': (socket) =>
    socket.end(`HTTP/1.1 200 OK\r\nx: ${'x'.repeat(20_000)}\r\ncontent-length: 2\r\n\r\n{}`),
  'no answer': () => {},
  'no HTTP': (socket) => socket.end('\0\x01\x02'.repeat(100)),
  'an error without end': (socket) => {
    socket.write('HTTP/1.1 500 X\r\ntransfer-encoding: chunked\r\n\r\n');
    endless(socket, PIECE);
  },
  'an error that is cut': (socket) => socket.end('HTTP/1.1 500 X\r\ncontent-length: 100\r\n\r\nabc'),
  'an error that stalls': (socket) => socket.write('HTTP/1.1 500 X\r\ncontent-length: 100\r\n\r\nabc'),
  'an error that drips': (socket) => {
    socket.write('HTTP/1.1 500 X\r\ncontent-type: application/json\r\ntransfer-encoding: chunked\r\n\r\n1\r\n{\r\n');
    const timer = setInterval(() => socket.write('1\r\n \r\n'), 20);
    socket.on('close', () => clearInterval(timer));
  },
  'a refusal without end': (socket) => {
    socket.write('HTTP/1.1 401 X\r\ntransfer-encoding: chunked\r\n\r\n');
    endless(socket, PIECE);
  },
  'two lengths': (socket) =>
    socket.end('HTTP/1.1 200 OK\r\ncontent-length: 1\r\ntransfer-encoding: chunked\r\n\r\n2\r\n{}\r\n0\r\n\r\n'),
  'a folded header': (socket) => socket.end('HTTP/1.1 200 OK\r\na: b\r\n c\r\ncontent-length: 2\r\n\r\n{}'),
  'an error with the credential': (socket) =>
    socket.end(`HTTP/1.1 404 ${SECRET}\r\ncontent-type: a/${SECRET}\r\ncontent-length: 29\r\n\r\n${SECRET}`),
  'a success with the credential': (socket) => {
    const body = `{"choices":[{"message":{"content":"${SECRET}"}}]}`;
    socket.write(`HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: ${body.length}\r\n\r\n`);
    const cut = body.indexOf(SECRET) + 7;
    socket.write(body.slice(0, cut), () => setImmediate(() => socket.end(body.slice(cut))));
  },
  'two content types': (socket) => socket.end(TWICE('content-type: application/json')),
  'two codings': (socket) =>
    socket.end(TWICE('content-encoding: identity').replace('\r\n', '\r\ncontent-type: application/json\r\n')),
  'an unexpected interim answer': (socket) => {
    const go = 'HTTP/1.1 100 Continue\r\nx: y\r\n\r\n';
    socket.write(go + go, () => setImmediate(() => socket.end(go + TWICE('content-type: application/json'))));
  },
  trailers: (socket) =>
    socket.end(
      `${CHUNKED}trailer: x-sum, authorization, set-cookie\r\n\r\n2\r\n{}\r\n0\r\nx-sum: ${SECRET}\r\nset-cookie: a=b\r\nauthorization: b\r\nx-more: c\r\n\r\n`,
    ),
};

/** Writes until the reader closes, at most a gigabyte. */
function endless(socket: Socket, piece: string): void {
  let left = 2 ** 30 / piece.length;
  const write = () => {
    while (!socket.destroyed && left-- > 0) if (!socket.write(piece)) return void socket.once('drain', write);
  };
  write();
}

/** A provider that sends the raw answer named by the query parameter `answer`. */
async function startRawProvider() {
  const sockets = new Set<Socket>();
  const heads: string[] = [];
  const bodies: string[] = [];
  const server = createServer((socket) => {
    sockets.add(socket);
    socket.on('error', () => {}).on('close', () => sockets.delete(socket));
    let text = '';
    const read = (data: Buffer) => {
      text += data.toString('latin1');
      const end = text.indexOf('\r\n\r\n');
      const body = text.slice(end + 4);
      const isWhole = /^transfer-encoding/im.test(text)
        ? body.includes('0\r\n') && body.endsWith('\r\n\r\n')
        : body.length >= Number(/^content-length: (\d+)/im.exec(text)?.[1] ?? 0);
      if (end === -1 || !isWhole) return;
      socket.off('data', read);
      if (text.startsWith('HEAD')) {
        socket.write('HTTP/1.1 200 OK\r\ncontent-length: 4\r\n\r\n');
        // The body that must not come does, in front of the next answer.
        socket.once('data', () => socket.write(`body${TWICE('x: y')}`));
        return;
      }
      heads.push(text.slice(0, end));
      bodies.push(body);
      const name = decodeURIComponent(/[?&]answer=([^ &]*)/.exec(text)?.[1] ?? '');
      (ANSWERS[name] ?? upgrade)(socket);
    };
    socket.on('data', read);
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const address = server.address();
  assert.ok(address && typeof address === 'object');
  return {
    url: `http://127.0.0.1:${address.port}/v1`,
    sockets,
    heads,
    bodies,
    async [Symbol.asyncDispose]() {
      for (const socket of sockets) socket.destroy();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}

function upgrade(socket: Socket): void {
  socket.write(
    `HTTP/1.1 101 ${SECRET}\r\nconnection: upgrade, x-secret\r\nupgrade: websocket\r\nsec-websocket-accept: x\r\nsec-websocket-protocol: ${SECRET}\r\nx-secret: ${SECRET}\r\n\r\n`,
  );
}

const AUTH = `Host: a\r\nAuthorization: Bearer ${CLIENT_KEY}\r\n`;
const HANDSHAKE = `${AUTH}Connection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\nSec-WebSocket-Version: 13\r\n\r\n`;

function post(path: string, body: string): string {
  return `POST /v1${path} HTTP/1.1\r\n${AUTH}Connection: close\r\nContent-Type: application/json\r\nContent-Length: ${body.length}\r\n\r\n${body}`;
}

/** The endpoints that lead to a provider. */
const ENDPOINTS = {
  'a passthrough call': (query: string) => `GET /v1/files/x${query} HTTP/1.1\r\n${AUTH}Connection: close\r\n\r\n`,
  'a passthrough upload': (query: string) => post(`/files${query}`, 'abc'),
  'a WebSocket': (query: string) => `GET /v1/realtime${query} HTTP/1.1\r\n${HANDSHAKE}`,
  embeddings: (query: string) => post(`/embeddings${query}`, '{"model":"fast","input":"x"}'),
  'a chat completion': (query: string) =>
    post(`/chat/completions${query}`, '{"model":"fast","messages":[{"role":"user","content":"x"}]}'),
  'a chat stream': (query: string) =>
    post(`/chat/completions${query}`, '{"model":"fast","stream":true,"messages":[{"role":"user","content":"x"}]}'),
};

describe('hostile provider answers', () => {
  let provider: Awaited<ReturnType<typeof startRawProvider>>;
  let gateway: ProxyGateway;
  /** Has short timeouts, so that tests of missing answers are fast; slow answers may be too late for it. */
  let impatient: ProxyGateway;
  const stack = new AsyncDisposableStack();
  before(async () => {
    provider = stack.use(await startRawProvider());
    const start = (timeouts: object) =>
      startProxyGateway({
        providers: { only: { url: provider.url, apiKey: SECRET, timeouts } },
        passthrough: [
          { path: '/v1/files', provider: 'only' },
          { path: '/v1/realtime', provider: 'only', websocket: true },
        ],
        key: { passthrough: 'all' },
      });
    gateway = stack.use(await start({}));
    impatient = stack.use(await start({ connect: 0.1, first_byte: 0.15, idle: 0.15 }));
  });
  after(() => stack.disposeAsync());

  const ask = (endpoint: keyof typeof ENDPOINTS, name: string, of = gateway) =>
    rawExchange(of, ENDPOINTS[endpoint](`?answer=${encodeURIComponent(name)}`));
  const ODD = ['two content types', 'two codings', 'an unexpected interim answer'];
  const NOT_FAILED = new Set([...ODD, 'trailers', 'an error with the credential', 'a success with the credential']);

  for (const endpoint of Object.keys(ENDPOINTS) as (keyof typeof ENDPOINTS)[]) {
    it(`are provider failures: ${endpoint}`, async () => {
      const names = Object.keys(ANSWERS).filter((name) => !NOT_FAILED.has(name));
      const failed = names.map(async (name) => {
        if (endpoint === 'a WebSocket' && name === 'another protocol') return;
        const answer = await ask(endpoint, name, impatient);
        assert.match(answer, /^HTTP\/1\.1 50[24] .*"code":"upstream_(?:error|timeout)"/s, name);
      });
      await Promise.all(failed);
      for (const name of NOT_FAILED) {
        const answer = await ask(endpoint, name);
        assert.ok(!answer.includes(SECRET) && /^HTTP\/1\.1 [245]/.test(answer), answer);
      }
    });
  }

  it('may repeat headers, and send 100 Continue after a complete request', async () => {
    for (const name of ODD) {
      for (const endpoint of ['a passthrough call', 'embeddings', 'a chat completion', 'a chat stream'] as const) {
        const answer = await ask(endpoint, name);
        assert.match(answer, /^HTTP\/1\.1 200 .*fine/s, `${name}: ${endpoint}`);
        assert.doesNotMatch(answer, /application\/json, ?application/);
      }
    }
  });

  it('to HEAD may have a body, which is no part of the next answer', async () => {
    const head = ENDPOINTS['a passthrough call']('').replace('GET', 'HEAD');
    assert.match(await rawExchange(gateway, head), /^HTTP\/1\.1 200 /);
    assert.match(await ask('a passthrough call', 'two content types'), /^HTTP\/1\.1 200 .*fine/s);
  });

  it('pass on only announced, harmless trailers, in both directions', async () => {
    const down = await ask('a passthrough call', 'trailers');
    assert.match(down, /0\r\nx-sum: \*+\r\n\r\n$/);
    const up = `POST /v1/files?answer=trailers HTTP/1.1\r\n${AUTH}Connection: close\r\nTransfer-Encoding: chunked\r\nTrailer: x-sum, cookie, X-Api-Key\r\n\r\n3\r\nabc\r\n0\r\nx-sum: 1\r\nCookie: a=b\r\nX-Api-Key: ${CLIENT_KEY}\r\nx-more: 1\r\nAuthorization: Bearer ${CLIENT_KEY}\r\n\r\n`;
    assert.match(await rawExchange(gateway, up), /^HTTP\/1\.1 200 /);
    assert.match(provider.bodies.at(-1) ?? '', /0\r\nx-sum: 1\r\n\r\n$/);
  });

  describe('WebSockets', () => {
    async function open(): Promise<{ socket: Socket; head: string; other: Socket }> {
      const before = new Set(provider.sockets);
      const socket = connect(Number(new URL(gateway.url).port), '127.0.0.1');
      socket.on('error', () => {});
      socket.write(`GET /v1/realtime HTTP/1.1\r\n${HANDSHAKE}`);
      const [head] = await once(socket, 'data');
      const [other] = [...provider.sockets].filter((each) => !before.has(each));
      assert.ok(other);
      return { socket, head: String(head), other };
    }

    it("hide the provider's headers in the handshake", async () => {
      const { socket, head } = await open();
      assert.match(head, /^HTTP\/1\.1 101 Switching Protocols\r\n/);
      assert.match(head, /connection: Upgrade\r\nupgrade: websocket\r\n/);
      assert.ok(!head.includes(SECRET) && !head.includes('x-secret'), head);
      socket.destroy();
    });

    it('send the provider no subprotocol that carries a credential', async () => {
      const socket = connect(Number(new URL(gateway.url).port), '127.0.0.1');
      const protocols = [
        'realtime',
        'openai-insecure-api-key.x',
        'bearer.x',
        'JWT-x',
        'auth.x',
        'openai-beta.realtime-v1',
      ];
      const head = HANDSHAKE.replace('\r\n\r\n', `\r\nSec-WebSocket-Protocol: ${protocols.join(', ')}\r\n\r\n`);
      socket.write(`GET /v1/realtime HTTP/1.1\r\n${head}`);
      await once(socket, 'data');
      socket.destroy();
      const sent = /^sec-websocket-protocol: (.*)$/im.exec(provider.heads.at(-1) ?? '')?.[1];
      assert.equal(sent?.trim(), 'realtime, openai-beta.realtime-v1');
    });

    it('close on both sides when either side resets or the key is removed', async () => {
      const reset = await open();
      reset.socket.resetAndDestroy();
      await until(() => reset.other.destroyed || undefined);
      const cut = await open();
      cut.other.resetAndDestroy();
      await once(cut.socket.resume(), 'close');
      // The client neither writes nor reads; then its key is removed.
      const removed = await open();
      removed.socket.pause();
      const fill = () => {
        while (removed.other.write(Buffer.alloc(65_536)));
      };
      removed.other.on('drain', fill);
      fill();
      await gateway.gateway.reload({ ...gateway.config, keys: [] });
      await until(() => removed.other.destroyed || undefined);
      await gateway.gateway.reload(gateway.config);
    });
  });

  it('leave no credential and no internal error in the log', () => {
    for (const line of [...gateway.log, ...impatient.log]) {
      assert.ok(!line.includes(SECRET) && !line.includes(CLIENT_KEY), line);
      assert.ok(!line.includes('internal_error'), line);
    }
  });
});
