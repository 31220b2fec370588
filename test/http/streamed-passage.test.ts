import assert from 'node:assert/strict';
import { createHash } from 'node:crypto';
import { once } from 'node:events';
import { createServer, type IncomingMessage, request, type Server, type ServerResponse } from 'node:http';
import { connect, type Socket } from 'node:net';
import { Readable } from 'node:stream';
import { WebSocket, WebSocketServer } from 'ws';
import { collectGarbage } from '../support/collect-garbage.ts';
import { until } from '../support/http-gateway.ts';
import { CLIENT_KEY, chat, type ProxyGateway, send, startProxyGateway } from '../support/proxy-gateway.ts';
import { patience } from '../support/time-limit.ts';

const MEGABYTE = Buffer.alloc(1024 * 1024, 'abcdefghijklmnopqrstuvwxyz012345');
const SIZE = 40;
const LOOK_BYTES = (SIZE / 2) * MEGABYTE.length;
const SECRET = 'sk-secret-of-the-provider';

function* megabytes(count: number): Generator<Buffer> {
  for (let n = 0; n < count; n += 1) yield MEGABYTE;
}

/** Keys that lose the right to a WebSocket while it is open. */
const ENDING = ['expired', 'elsewhere', 'narrowed'];

/** Answers that announce a trailer: the start of the head, and the body. */
const ANNOUNCED: Record<string, [head: string, body: string]> = {
  sized: ['200 OK\r\nContent-Length: 4', 'body'],
  none: ['204 No Content\r\nTransfer-Encoding: chunked', ''],
  chunked: ['200 OK\r\nTransfer-Encoding: chunked', '4\r\nbody\r\n0\r\nx-digest: abc\r\n\r\n'],
};

/** When the answer of `head-first` goes on. */
const beginBody = Promise.withResolvers<void>();

const NONE: IncomingMessage['headers'] = {};

const digestOf = (count: number) => {
  const hash = createHash('sha256');
  for (const piece of megabytes(count)) hash.update(piece);
  return hash.digest('hex');
};

/** A provider with files, errors and a WebSocket echo. */
interface FileProvider extends AsyncDisposable {
  url: string;
  seen: IncomingMessage[];
  sockets: Set<Socket>;
}

async function startFileProvider(): Promise<FileProvider> {
  const seen: IncomingMessage[] = [];
  const sockets = new Set<Socket>();
  const server: Server = createServer((req, res) => {
    seen.push(req);
    void answer(req, res).catch(() => res.destroy());
  });
  const library = new WebSocketServer({ noServer: true });
  server.on('upgrade', (req, socket: Socket, head) => {
    seen.push(req);
    sockets.add(socket);
    socket.on('error', () => {}).on('close', () => sockets.delete(socket));
    const status = /\/refused\/(\d+)/.exec(req.url ?? '')?.[1];
    if (status) return void socket.end(`HTTP/1.1 ${status} No\r\ncontent-length: 7\r\n\r\nnot now`);
    if (req.url?.endsWith('/library')) {
      return library.handleUpgrade(req, socket, head, (each) => each.on('message', (text) => each.send(`${text}`)));
    }
    socket.write(
      `HTTP/1.1 101 Switching Protocols\r\nupgrade: websocket\r\nconnection: upgrade\r\nset-cookie: a=b\r\nx-request-id: ws-1\r\nsec-websocket-protocol: ${req.headers['sec-websocket-protocol']}\r\n\r\n`,
    );
    // "deaf" does not answer the end of the connection, which stays half open.
    if (req.url?.includes('deaf')) socket.resume();
    else socket.pipe(socket);
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const address = server.address();
  assert.ok(address && typeof address === 'object');
  return {
    url: `http://127.0.0.1:${address.port}/v1`,
    seen,
    sockets,
    async [Symbol.asyncDispose]() {
      for (const socket of sockets) socket.destroy();
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}

async function answer(req: IncomingMessage, res: ServerResponse): Promise<void> {
  const path = req.url?.split('?')[0] ?? '';
  if (path.endsWith('/error')) {
    res.writeHead(400, { 'content-type': 'application/json', 'x-request-id': 'req-1' });
    res.end(JSON.stringify({ error: { message: `not with ${SECRET}` } }));
    return;
  }
  if (path.endsWith('/long-error')) return void res.writeHead(400).end(Buffer.concat([MEGABYTE, MEGABYTE]));
  if (path.endsWith('/denied')) return void res.writeHead(401).end(`bad key ${SECRET}`);
  if (path.endsWith('/cut')) {
    res.writeHead(200, { 'content-length': 1000 });
    res.write('half', () => res.destroy());
    return;
  }
  if (path.endsWith('/head-first')) {
    res.flushHeaders();
    await beginBody.promise;
    return void res.end('body');
  }
  if (path.endsWith('/endless')) {
    const drip = setInterval(() => res.write('.'), 50);
    res.once('close', () => clearInterval(drip));
    return;
  }
  if (req.method === 'POST') {
    const hash = createHash('sha256');
    let size = 0;
    for await (const chunk of req) {
      hash.update(chunk);
      size += chunk.length;
    }
    res.writeHead(200, { 'content-type': 'application/json', 'set-cookie': 'session=1' });
    res.end(JSON.stringify({ size, digest: hash.digest('hex'), trailers: req.trailers }));
    return;
  }
  const range = /bytes=(\d+)-(\d+)/.exec(req.headers.range ?? '');
  if (range) {
    const [from, to] = [Number(range[1]), Number(range[2])];
    res.writeHead(206, { 'content-range': `bytes ${from}-${to}/${SIZE * MEGABYTE.length}`, 'accept-ranges': 'bytes' });
    res.end(MEGABYTE.subarray(from, to + 1));
    return;
  }
  const length = SIZE * MEGABYTE.length;
  if (path.includes('/announced/')) {
    const [head, body] = ANNOUNCED[path.slice(path.lastIndexOf('/') + 1)] ?? ['', ''];
    const start = `HTTP/1.1 ${head}\r\nTrailer: x-digest\r\nConnection: close\r\n\r\n`;
    req.socket.end(req.method === 'HEAD' ? start : start + body);
    return;
  }
  if (req.method === 'HEAD') return void res.writeHead(200, { 'content-length': length, etag: '"x"' }).end();
  if (path.endsWith('/trailers')) {
    res.writeHead(200, { trailer: 'x-digest' });
    res.write('body');
    res.addTrailers({ 'x-digest': 'abc' });
    res.end();
    return;
  }
  res.writeHead(200, { 'content-length': length });
  Readable.from(megabytes(SIZE)).pipe(res);
}

describe('passthrough APIs', function () {
  this.timeout(patience(20));
  let provider: FileProvider;
  let gateway: ProxyGateway;
  const stack = new AsyncDisposableStack();

  before(async () => {
    provider = stack.use(await startFileProvider());
    gateway = stack.use(
      await startProxyGateway({
        providers: { files: { url: provider.url, apiKey: SECRET } },
        passthrough: [
          { path: '/v1/files', provider: 'files' },
          { path: '/v1/realtime', provider: 'files', websocket: true },
          { path: '/v1/messages', provider: 'files' },
          { path: '/v1/batches', provider: 'files' },
        ],
        key: { passthrough: ['/v1/files', '/v1/realtime', '/v1/messages'] },
        keys: ENDING.map((id) => ({ id, secret: `sk-${id}`, passthrough: 'all' })),
      }),
    );
  });
  after(() => stack.disposeAsync());
  beforeEach(() => {
    provider.seen.length = 0;
  });

  const get = (path: string, options: { method?: string; headers?: Record<string, string> } = {}) =>
    fetch(gateway.url + path, {
      method: options.method ?? 'GET',
      headers: { authorization: `Bearer ${CLIENT_KEY}`, ...options.headers },
    });

  it('upload and download bodies unchanged, and hold a small part of them at a time', async () => {
    collectGarbage();
    const before = process.memoryUsage();
    let most = 0;
    let passed = 0;
    /** Measures live memory in the middle and at the end of each body. */
    const watch = (bytes: number) => {
      const looks = Math.floor(passed / LOOK_BYTES);
      passed += bytes;
      if (Math.floor(passed / LOOK_BYTES) === looks) return;
      collectGarbage();
      const { arrayBuffers, heapUsed } = process.memoryUsage();
      most = Math.max(most, arrayBuffers + heapUsed - before.arrayBuffers - before.heapUsed);
    };
    const upload = request(`${gateway.url}/files?purpose=a%20b`, {
      method: 'POST',
      headers: { authorization: `Bearer ${CLIENT_KEY}`, 'content-type': 'application/octet-stream' },
    });
    const answered = once(upload, 'response');
    for (const piece of megabytes(SIZE)) {
      watch(piece.length);
      if (!upload.write(piece)) await once(upload, 'drain');
    }
    upload.end();
    const [response] = await answered;
    const uploaded = JSON.parse(Buffer.concat(await Array.fromAsync(response)).toString());
    assert.deepEqual([uploaded.size, uploaded.digest], [SIZE * MEGABYTE.length, digestOf(SIZE)]);
    assert.equal(provider.seen[0]?.url, '/v1/files?purpose=a%20b');
    assert.equal(response.headers['set-cookie'], undefined);

    const download = await get('/files/file-1/content');
    const hash = createHash('sha256');
    assert.ok(download.body);
    for await (const chunk of download.body) {
      watch(chunk.length);
      hash.update(chunk);
    }
    assert.equal(hash.digest('hex'), digestOf(SIZE));
    assert.ok(most < LOOK_BYTES, `${most} bytes more`);
  });

  it("send the provider's credential, and no headers that identify the client", async () => {
    const identity = {
      cookie: 'a=b',
      'x-forwarded-for': '1.2.3.4',
      'x-stainless-os': 'x',
      origin: 'https://a.example',
    };
    await (await get('/files/trailers', { headers: { ...identity, 'openai-beta': 'assistants=v2' } })).text();
    const { headers } = provider.seen[0] ?? { headers: NONE };
    assert.equal(headers.authorization, `Bearer ${SECRET}`);
    for (const name of Object.keys(identity)) assert.equal(headers[name], undefined, name);
    assert.equal(headers['openai-beta'], 'assistants=v2');
    assert.equal(headers['user-agent'], 'research-gateway');
    assert.ok(!JSON.stringify(headers).includes(CLIENT_KEY));
  });

  it('support HEAD, ranges, trailers and 100-continue', async () => {
    const head = await get('/files/x', { method: 'HEAD' });
    assert.equal(head.headers.get('content-length'), String(SIZE * MEGABYTE.length));
    assert.equal(head.headers.get('etag'), '"x"');
    const part = await get('/files/x', { headers: { range: 'bytes=3-7' } });
    assert.equal(part.status, 206);
    assert.equal(await part.text(), 'defgh');
    assert.match(part.headers.get('content-range') ?? '', /^bytes 3-7\//);

    const sent = request(`${gateway.url}/files/trailers`, { headers: { authorization: `Bearer ${CLIENT_KEY}` } });
    sent.end();
    const [answered] = await once(sent, 'response');
    await Array.fromAsync(answered);
    assert.equal(answered.trailers['x-digest'], 'abc');

    const upload = request(`${gateway.url}/files`, {
      method: 'POST',
      headers: { authorization: `Bearer ${CLIENT_KEY}`, trailer: 'x-sum', expect: '100-continue' },
    });
    upload.flushHeaders();
    await once(upload, 'continue');
    upload.write('hello');
    upload.addTrailers([['x-sum', '5']]);
    upload.end();
    const [uploadAnswer] = await once(upload, 'response');
    const body = JSON.parse(Buffer.concat(await Array.fromAsync(uploadAnswer)).toString());
    assert.deepEqual([body.size, body.trailers], [5, { 'x-sum': '5' }]);
  });

  it('survive announced trailers that cannot come', async () => {
    for (const [method, name, body] of [
      ['GET', 'sized', 'body'],
      ['GET', 'none', ''],
      ['HEAD', 'chunked', ''],
    ] as const) {
      const answer = await get(`/files/announced/${name}`, { method });
      assert.deepEqual([answer.ok, await answer.text()], [true, body], name);
    }
    const address = new URL(gateway.url);
    const old = connect(Number(address.port), address.hostname);
    const head = `GET /v1/files/announced/chunked HTTP/1.0\r\nAuthorization: Bearer ${CLIENT_KEY}\r\n\r\n`;
    old.write(head);
    const text = Buffer.concat(await Array.fromAsync(old)).toString();
    assert.match(text, /^HTTP\/1.1 200 .*\r\n\r\nbody$/s);
    for (const method of ['GET', 'DELETE', 'HEAD']) {
      const answer = await get('/files/x', { method, headers: { trailer: 'x-sum', range: 'bytes=0-1' } });
      assert.ok(answer.ok, `${method} with trailers`);
      await answer.arrayBuffer();
    }
    const upload = await get('/files', { method: 'POST', headers: { trailer: 'x-sum' } });
    assert.deepEqual(await upload.json(), { size: 0, digest: digestOf(0), trailers: {} });
  });

  it('pass errors on without the credential', async () => {
    const error = await get('/files/error');
    assert.equal(error.status, 400);
    assert.equal(error.headers.get('x-upstream-request-id'), 'req-1');
    assert.deepEqual(await error.json(), { error: { message: `not with ${'*'.repeat(SECRET.length)}` } });
    const denied = await get('/files/denied');
    assert.equal(denied.status, 502);
    const text = await denied.text();
    assert.ok(text.includes('upstream_error') && !text.includes(SECRET), text);
    await assert.rejects(async () => (await get('/files/cut')).text());
    const long = await get('/files/long-error');
    assert.equal(long.status, 502);
    assert.match(await long.text(), /larger than 1048576 bytes/);
  });

  it('pass the head of an answer on before its body begins', async () => {
    const answer = await get('/files/head-first');
    assert.equal(answer.status, 200);
    beginBody.resolve();
    assert.equal(await answer.text(), 'body');
  });

  it('count in the usage of their key', async () => {
    await using counting = await startProxyGateway({
      providers: { files: { url: provider.url } },
      passthrough: [{ path: '/v1/files', provider: 'files' }],
      key: { passthrough: 'all', admin: true },
    });
    const headers = { authorization: `Bearer ${CLIENT_KEY}` };
    for (const path of ['trailers', 'error']) await (await fetch(`${counting.url}/files/${path}`, { headers })).text();
    const usage = new URL('/admin/usage?group_by=model', counting.url);
    const counts = await until(async () => {
      const { data } = JSON.parse(await (await fetch(usage, { headers })).text());
      return data.length === 1 && data[0].requests === 2 ? data[0] : undefined;
    });
    assert.deepEqual([counts.model, counts.errors], ['/v1/files', 1]);
  });

  it('wait for a free connection no longer than for an answer, and are not sent later', async () => {
    const seconds = patience(0.4) / 1000;
    await using one = await startProxyGateway({
      providers: {
        files: {
          url: provider.url,
          timeouts: { connect: seconds, first_byte: seconds, idle: seconds },
          maxConnections: 1,
        },
      },
      passthrough: [{ path: '/v1/files', provider: 'files' }],
      key: { passthrough: 'all' },
    });
    const ask = (path: string) =>
      fetch(`${one.url}/files/${path}`, { headers: { authorization: `Bearer ${CLIENT_KEY}` } });
    const endless = await ask('endless');
    const late = await ask('late');
    assert.equal(late.status, 504);
    assert.match(await late.text(), /no connection became free in time/);
    assert.equal(provider.seen[0]?.socket.destroyed, false, 'a call may take longer than its connection');
    await endless.body?.cancel();
    assert.equal((await ask('error')).status, 400);
    assert.deepEqual(
      provider.seen.map(({ url }) => url),
      ['/v1/files/endless', '/v1/files/error'],
    );
  });

  it('are for keys that list them only', async () => {
    const refused = await get('/batches');
    assert.equal(refused.status, 403);
    assert.match(await refused.text(), /passthrough_not_allowed/);
    assert.equal((await get('/skills')).status, 404);
    assert.equal((await get('/filesystem')).status, 404);
    assert.equal((await fetch(`${gateway.url}/files`)).status, 401);
    assert.equal(provider.seen.length, 0);
  });

  it("accept x-api-key as the client's key on Anthropic's paths only", async () => {
    const answered = await fetch(`${gateway.url}/messages`, {
      method: 'POST',
      headers: { 'x-api-key': CLIENT_KEY, 'anthropic-version': '2023-06-01', 'content-type': 'application/json' },
      body: '{"model":"claude"}',
    });
    assert.equal(answered.status, 200);
    const { headers } = provider.seen[0] ?? { headers: NONE };
    assert.equal(headers['x-api-key'], SECRET);
    assert.equal(headers['anthropic-version'], '2023-06-01');
    assert.equal(headers.authorization, undefined);
    const elsewhere = await fetch(`${gateway.url}/files`, { headers: { 'x-api-key': CLIENT_KEY } });
    assert.equal(elsewhere.status, 401);
  });

  /** Opens a WebSocket and reads the head of the answer. */
  async function open(path: string, headers: Record<string, string>): Promise<{ head: string; socket: Socket }> {
    const { hostname, port } = new URL(gateway.url);
    const socket = connect({ host: hostname, port: Number(port) });
    const lines = Object.entries({ host: 'x', connection: 'Upgrade', upgrade: 'websocket', ...headers });
    socket.write(`GET /v1${path} HTTP/1.1\r\n${lines.map(([name, value]) => `${name}: ${value}\r\n`).join('')}\r\n`);
    let head = '';
    while (!head.includes('\r\n\r\n')) {
      const [chunk] = await once(socket, 'data');
      head += chunk;
    }
    return { head, socket };
  }

  it("connect a library's WebSocket with a library's server, and pass its refusals on", async () => {
    const headers = { authorization: `Bearer ${CLIENT_KEY}` };
    const client = (path: string) => new WebSocket(`${gateway.url}/realtime/${path}`, ['realtime'], { headers });
    const accepted = client('library');
    await once(accepted, 'open');
    assert.equal(accepted.protocol, 'realtime');
    accepted.send('hello');
    assert.equal(String((await once(accepted, 'message'))[0]), 'hello');
    accepted.close(4001, 'enough');
    assert.equal((await once(accepted, 'close'))[0], 4001);
    for (const [status, expected] of [
      [400, 400],
      [429, 429],
      [401, 502],
      [407, 502],
      [200, 502],
    ]) {
      const [, answer]: IncomingMessage[] = await once(
        client(`refused/${status}`).on('error', () => {}),
        'unexpected-response',
      );
      assert.ok(answer);
      const body = Buffer.concat(await Array.fromAsync(answer)).toString();
      assert.equal(answer.statusCode, expected);
      assert.equal(body === 'not now', status === expected, body);
    }
  });

  it('connect hundreds of WebSockets at a time', async () => {
    const headers = {
      authorization: `Bearer ${CLIENT_KEY}`,
      'sec-websocket-key': 'dGhlIHNhbXBsZSBub25jZQ==',
      'sec-websocket-version': '13',
      'sec-websocket-protocol': `realtime, openai-insecure-api-key.${CLIENT_KEY}`,
    };
    const echoes = Array.from({ length: 300 }, async (_, n) => {
      const { head, socket } = await open('/realtime?model=x', headers);
      assert.match(head, /^HTTP\/1\.1 101 /);
      assert.doesNotMatch(head, /set-cookie/i);
      // A text frame without a client's mask, so that the echo is a valid provider frame.
      const said = `\x81\x0ahello ${String(n).padStart(4)}`;
      socket.write(said, 'latin1');
      let heard = '';
      while (heard.length < said.length) heard += (await once(socket, 'data'))[0].toString('latin1');
      assert.equal(heard, said);
      socket.destroy();
    });
    await Promise.all(echoes);
    const seen = provider.seen[0]?.headers ?? {};
    assert.equal(seen.authorization, `Bearer ${SECRET}`);
    assert.equal(seen['sec-websocket-protocol'], 'realtime');
    for (const socket of [...provider.sockets]) if (!socket.destroyed) await once(socket, 'close');
  });

  it('end WebSockets whose client disconnected, even if the provider does not close', async () => {
    const authorization = `Bearer ${CLIENT_KEY}`;
    const { socket } = await open('/realtime?model=deaf', { authorization });
    socket.end();
    await once(socket.resume(), 'close', { signal: AbortSignal.timeout(patience(2)) });
    // A client that closes before its provider answers.
    const early = connect({ port: Number(new URL(gateway.url).port), allowHalfOpen: true });
    const head = ['GET /v1/realtime?model=deaf HTTP/1.1', 'host: x', `authorization: ${authorization}`];
    early.end([...head, 'connection: upgrade', 'upgrade: websocket', '', ''].join('\r\n'));
    await once(early.resume(), 'close', { signal: AbortSignal.timeout(patience(2)) });
  });

  it('authorize WebSockets like other calls, and ignore other upgrades', async () => {
    const authorization = `Bearer ${CLIENT_KEY}`;
    assert.match((await open('/realtime', {})).head, /^HTTP\/1\.1 401 /);
    assert.match((await open('/files', { authorization })).head, /^HTTP\/1\.1 404 /);
    assert.match((await open('/realtime/../files', { authorization })).head, /^HTTP\/1\.1 404 /);
    assert.match((await open('/models', { authorization, upgrade: 'h2c' })).head, /^HTTP\/1\.1 200 /);
    assert.match(
      (await open('/realtime', { 'sec-websocket-protocol': `openai-insecure-api-key.${CLIENT_KEY}` })).head,
      / 101 /,
    );
  });

  it('end WebSockets whose key loses the right, but not those of others', async () => {
    const kept = await open('/realtime', { authorization: `Bearer ${CLIENT_KEY}` });
    const ending = await Promise.all(ENDING.map((id) => open('/realtime', { authorization: `Bearer sk-${id}` })));
    const closed = Promise.all(ending.map(({ socket }) => once(socket.resume(), 'close')));
    const [client, ...others] = gateway.config.keys;
    assert.ok(client);
    const changes = [{ expires_at: '2020-01-01T00:00:00Z' }, { allow_from: ['10.0.0.0/8'] }, { passthrough: [] }];
    const keys = [client, ...others.map((key, n) => ({ ...key, ...changes[n] }))];
    await gateway.gateway.reload({ ...gateway.config, keys });
    await closed;
    const said = '\x81\x0bstill there';
    kept.socket.write(said, 'latin1');
    assert.equal((await once(kept.socket, 'data'))[0].toString('latin1'), said);
    kept.socket.destroy();
  });

  it('end WebSockets when the gateway stops', async () => {
    await using stopping = await startProxyGateway({
      providers: { files: { url: provider.url } },
      passthrough: [{ path: '/v1/realtime', provider: 'files', websocket: true }],
      key: { passthrough: 'all' },
    });
    const { hostname, port } = new URL(stopping.url);
    const socket = connect({ host: hostname, port: Number(port) });
    socket.write(
      `GET /v1/realtime HTTP/1.1\r\nhost: x\r\nauthorization: Bearer ${CLIENT_KEY}\r\nconnection: upgrade\r\nupgrade: websocket\r\n\r\n`,
    );
    await once(socket, 'data');
    const closed = once(socket, 'close');
    await stopping.gateway.close();
    await closed;
  });

  it('leave calls with a model in the body to its routes', async () => {
    const answered = await send(gateway, '/images/edits', { body: chat() });
    assert.equal(answered.status, 200);
    assert.match(JSON.parse(await answered.text()).digest, /^[0-9a-f]{64}$/);
  });
});
