import assert from 'node:assert/strict';
import { once } from 'node:events';
import { connect, type Socket } from 'node:net';
import { errorBody } from '../../src/protocol/errors.ts';
import { rawExchange } from '../support/http-client.ts';
import { KEYS, openGateway, type TestGateway, until } from '../support/http-gateway.ts';
import { patience } from '../support/time-limit.ts';

const AUTH = `Authorization: Bearer ${KEYS.ann}\r\n`;
const CLOSE = 'Connection: close\r\n';

/** Status, headers and body of one raw answer. */
function parse(answer: string) {
  const [head = '', ...rest] = answer.split('\r\n\r\n');
  const headers = new Map(
    head
      .split('\r\n')
      .slice(1)
      .map((line): [string, string] => [
        line.slice(0, line.indexOf(':')).toLowerCase(),
        line.slice(line.indexOf(':') + 1).trim(),
      ]),
  );
  return { status: Number(head.split(' ')[1]), headers, body: rest.join('\r\n\r\n') };
}

describe('raw HTTP', function () {
  // Stalled readers run into their time limit.
  this.timeout(patience(30));
  let gateway: TestGateway;
  before(async () => {
    gateway = await openGateway({ server: { body_limit: '16kb' } });
  });
  after(() => gateway[Symbol.asyncDispose]());

  it('answers a request before refusing a pipelined one', async () => {
    const first = 'GET /nope HTTP/1.1\r\nHost: a\r\n\r\n';
    const webSocket = 'Connection: Upgrade\r\nUpgrade: websocket\r\n';
    for (const second of [
      'CONNECT a:1 HTTP/1.1\r\nHost: a\r\n\r\n',
      `GET /v1/nope HTTP/1.1\r\nHost: a\r\n${webSocket}\r\n`,
      'no HTTP at all\r\n\r\n',
    ]) {
      for (let n = 0; n < 10; n++) {
        const answers = await rawExchange(gateway, first + second);
        const statuses = [...answers.matchAll(/^HTTP\/1.1 (\d+)/gm)].map(([, status]) => Number(status));
        assert.equal(statuses[0], 404, `${second}: ${statuses}`);
      }
    }
  });

  it('answers a hundred pipelined requests in order', async () => {
    const requests = Array.from(
      { length: 100 },
      (_, n) => `GET /nope-${n} HTTP/1.1\r\nHost: a\r\n${n === 99 ? CLOSE : ''}\r\n`,
    );
    const answers = await rawExchange(gateway, requests.join(''));
    const named = [...answers.matchAll(/nope-(\d+)/g)].map(([, n]) => Number(n));
    assert.deepEqual(
      [...new Set(named)],
      Array.from({ length: 100 }, (_, n) => n),
    );
  });

  it('answers a request whose body breaks while the answer is being sent', async () => {
    const request = 'POST /v1/async HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n';
    for (let n = 0; n < 20; n++) assert.match(await rawExchange(gateway, request), /^HTTP\/1.1 40[01]/);
  });

  const CASES: [string, string, number, string][] = [
    ['garbage', 'hello\r\n\r\n', 400, 'invalid_parameter'],
    ['a broken header', `GET / HTTP/1.1\r\n bad\r\n\r\n`, 400, 'invalid_parameter'],
    ['headers that are too large', `GET / HTTP/1.1\r\nX: ${'x'.repeat(20_000)}\r\n\r\n`, 413, 'request_too_large'],
    ['an unknown method', 'BREW / HTTP/1.1\r\n\r\n', 400, 'invalid_parameter'],
    ['CONNECT', 'CONNECT a:1 HTTP/1.1\r\nHost: a\r\n\r\n', 405, 'method_not_allowed'],
    ['TRACE', `TRACE /v1/responses HTTP/1.1\r\n${AUTH}${CLOSE}\r\n`, 405, 'method_not_allowed'],
    ['OPTIONS', `OPTIONS /v1/responses HTTP/1.1\r\n${AUTH}${CLOSE}\r\n`, 405, 'method_not_allowed'],
    ['OPTIONS *', `OPTIONS * HTTP/1.1\r\n${CLOSE}\r\n`, 404, 'not_found'],
    ['an expectation', `GET /v1/models HTTP/1.1\r\n${AUTH}Expect: 200-ok\r\n${CLOSE}\r\n`, 400, 'invalid_parameter'],
    ['a path that is not UTF-8', `GET /v1/responses/%ff HTTP/1.1\r\n${AUTH}${CLOSE}\r\n`, 400, 'invalid_parameter'],
    ['a broken escape', `GET /v1/responses/%zz HTTP/1.1\r\n${AUTH}${CLOSE}\r\n`, 400, 'invalid_request_target'],
    ['a fragment', `GET /v1/models#a HTTP/1.1\r\n${AUTH}${CLOSE}\r\n`, 400, 'invalid_request_target'],
    ['a NUL in the id', `GET /v1/responses/%00 HTTP/1.1\r\n${AUTH}${CLOSE}\r\n`, 404, 'not_found'],
    ['a path in another case', `GET /V1/models HTTP/1.1\r\n${AUTH}${CLOSE}\r\n`, 404, 'not_found'],
    ...['gzip, chunked', 'chunked, identity', 'identity', 'xchunked'].map(
      (coding): [string, string, number, string] => [
        `the transfer coding ${coding}`,
        `POST /v1/async HTTP/1.1\r\n${AUTH}Transfer-Encoding: ${coding}\r\n${CLOSE}\r\n2\r\n{}\r\n0\r\n\r\n`,
        400,
        'invalid_parameter',
      ],
    ),
    [
      'chunks in HTTP/1.0',
      `POST /v1/async HTTP/1.0\r\n${AUTH}Transfer-Encoding: chunked\r\n\r\n2\r\n{}\r\n0\r\n\r\n`,
      400,
      'invalid_parameter',
    ],
    ['two hosts', `GET /v1/models HTTP/1.1\r\n${AUTH}Host: a\r\nhost: b\r\n${CLOSE}\r\n`, 400, 'invalid_parameter'],
    [
      'two lengths',
      `POST /v1/async HTTP/1.1\r\n${AUTH}Content-Length: 2\r\nTransfer-Encoding: chunked\r\n\r\n`,
      400,
      'invalid_parameter',
    ],
    ['an invalid length', `POST /v1/async HTTP/1.1\r\n${AUTH}Content-Length: x\r\n\r\n`, 400, 'invalid_parameter'],
    [
      'an announced body over the limit',
      `POST /v1/async HTTP/1.1\r\n${AUTH}Content-Type: application/json\r\nContent-Length: 20000\r\n${CLOSE}\r\n`,
      413,
      'request_too_large',
    ],
    [
      'a chunked body over the limit',
      `POST /v1/async HTTP/1.1\r\n${AUTH}Content-Type: application/json\r\nTransfer-Encoding: chunked\r\n${CLOSE}\r\n5000\r\n${'x'.repeat(0x5000)}\r\n0\r\n\r\n`,
      413,
      'request_too_large',
    ],
  ];
  for (const [what, request, status, code] of CASES) {
    it(`${what}: ${status} ${code} as JSON`, async () => {
      const answer = parse(await rawExchange(gateway, request));
      assert.equal(answer.status, status, answer.body);
      assert.equal(answer.headers.get('content-type'), 'application/json; charset=utf-8');
      assert.match(answer.headers.get('x-request-id') ?? '', /^[0-9a-f-]{36}$/);
      assert.equal(errorBody.strict().parse(JSON.parse(answer.body)).error.code, code);
    });
  }

  it('accepts a target in absolute form, and a request without Host', async () => {
    for (const line of ['GET http://gateway.example/v1/models HTTP/1.1', 'GET /v1/models HTTP/1.1']) {
      assert.equal(parse(await rawExchange(gateway, `${line}\r\n${AUTH}${CLOSE}\r\n`)).status, 200);
    }
  });

  it('sends HTTP/1.0 clients the whole stream without chunks', async () => {
    const body = '{"model":"deep","input":"hello"}';
    const head = `POST /v1/responses HTTP/1.0\r\n${AUTH}Content-Type: application/json\r\nContent-Length: ${body.length}\r\n`;
    const answer = parse(await rawExchange(gateway, `${head}\r\n${body}`));
    assert.equal(answer.headers.get('transfer-encoding'), undefined);
    assert.match(answer.body, /^event: response\.created\n/);
    assert.match(answer.body, /event: response\.completed\n/);
  });

  it('sends 100 Continue only if the headers are acceptable', async () => {
    const expecting = (authorization: string, length: number) =>
      `POST /v1/async HTTP/1.1\r\n${authorization}Content-Type: application/json\r\nExpect: 100-continue\r\nContent-Length: ${length}\r\n${CLOSE}\r\n`;
    const noKey = await rawExchange(gateway, expecting('', 10));
    assert.match(noKey, /^HTTP\/1\.1 401 /);
    assert.match(await rawExchange(gateway, expecting(AUTH, 20_000)), /^HTTP\/1\.1 413 /);

    const socket = await dial(gateway);
    socket.write(expecting(AUTH, 2));
    const [interim] = await once(socket, 'data');
    assert.match(String(interim), /^HTTP\/1\.1 100 Continue\r\n\r\n/);
    socket.write('{}');
    const [answer] = await once(socket, 'data');
    assert.match(String(answer), /^HTTP\/1\.1 400 .*missing_parameter/s);
  });

  it('times out slow headers and bodies, but not slow answers', async () => {
    // On a busy machine the limit may be over before a request that has arrived is read.
    const headers = patience(0.06);
    const request = 2 * headers;
    await using strict = await openGateway({ times: { headers, request, check: 10 } });
    const slowHeaders = parse(await rawExchange(strict, 'GET /v1/models HTTP/1.1\r\nX-Slow: 1\r\n'));
    assert.equal(slowHeaders.status, 400);
    assert.match(slowHeaders.body, /did not arrive in time/);
    const half = `POST /v1/async HTTP/1.1\r\n${AUTH}Content-Type: application/json\r\nContent-Length: 9\r\n\r\n{`;
    assert.match(await rawExchange(strict, half), /did not arrive in time/);

    const body = '{"model":"deep","input":"wait"}';
    const socket = await dial(strict);
    socket.write(
      `POST /v1/responses HTTP/1.1\r\n${AUTH}Content-Type: application/json\r\nContent-Length: ${body.length}\r\n${CLOSE}\r\n${body}`,
    );
    const began = performance.now();
    await until(() => (performance.now() - began > 3 * request ? true : undefined));
    await strict.release();
    let text = '';
    for await (const data of socket) text += data;
    assert.match(text, /event: response\.completed/);
  });

  it('answers a broken body at most once, and writes nothing into an answer under way', async () => {
    const head = `POST /v1/nowhere HTTP/1.1\r\n${AUTH}Content-Type: text/plain\r\nTransfer-Encoding: chunked\r\n\r\n`;
    const socket = await dial(gateway);
    socket.write(`${head}1\r\na\r\n`);
    const [first] = await once(socket, 'data');
    socket.write('no chunk\r\n');
    let text = String(first);
    for await (const data of socket) text += data;
    assert.equal(text.split('HTTP/1.1 ').length, 2, text);

    const body = '{"model":"deep","input":"wait"}';
    const streaming = await dial(gateway);
    streaming.write(
      `POST /v1/responses HTTP/1.1\r\n${AUTH}Content-Type: application/json\r\nContent-Length: ${body.length}\r\n\r\n${body}`,
    );
    let stream = String((await once(streaming, 'data'))[0]);
    streaming.write('no HTTP\r\n\r\n');
    for await (const data of streaming) stream += data;
    assert.equal(stream.split('HTTP/1.1 ').length, 2, stream);
    await gateway.release();
  });

  it('disconnects a stalled reader on any path, but not one that waits for an answer', async () => {
    // On a busy machine a timer may fire before a request that has arrived is read.
    const stalled = patience(0.06);
    await using strict = await openGateway({ times: { stalled } });
    for (const path of ['/openapi.json', '/docs/', '/metrics', '/v1/models', '/nowhere']) {
      const socket = await dial(strict);
      socket.on('error', () => {}).pause();
      // More answers than socket buffers hold: the last ones stay in the gateway.
      const ask = `GET ${path} HTTP/1.1\r\nHost: a\r\n${AUTH}\r\n`.repeat(200);
      const write = () => {
        while (socket.writable && socket.write(ask));
      };
      socket.on('drain', write);
      write();
      await until(async () => ((await connections(strict)) === 0 ? true : undefined));
      socket.destroy();
    }
    const body = '{"model":"deep","input":"wait","stream":false}';
    const socket = await dial(strict);
    socket.write(
      `POST /v1/responses HTTP/1.1\r\n${AUTH}Content-Type: application/json\r\nContent-Length: ${body.length}\r\n${CLOSE}\r\n${body}`,
    );
    const began = performance.now();
    await until(() => (performance.now() - began > 2 * stalled ? true : undefined));
    await strict.release();
    let text = '';
    for await (const data of socket) text += data;
    assert.match(text, /"status":"completed"/);
  });

  it('logs no error for a client that disconnects during its body', async () => {
    const before = gateway.lines.length;
    const socket = await dial(gateway);
    socket.write(
      `POST /v1/async HTTP/1.1\r\n${AUTH}Content-Type: application/json\r\nContent-Length: 100\r\n\r\n{"model"`,
    );
    await until(async () => ((await connections(gateway)) > 0 ? true : undefined));
    socket.destroy();
    const line = await until(() => gateway.lines.slice(before).find(({ msg }) => msg === 'request'));
    assert.deepEqual([line.left, line.error], [true, undefined]);
  });

  it('writes whole SSE frames: no chunk splits a frame', async () => {
    const socket = await dial(gateway);
    const body = '{"model":"deep","input":"long 300"}';
    socket.write(
      `POST /v1/responses HTTP/1.1\r\n${AUTH}Content-Type: application/json\r\nContent-Length: ${body.length}\r\n${CLOSE}\r\n${body}`,
    );
    let text = '';
    for await (const data of socket) text += data;
    const chunks = chunksOf(text.slice(text.indexOf('\r\n\r\n') + 4));
    assert.ok(chunks.length >= 1);
    for (const chunk of chunks) assert.match(chunk, /^event: [\w.]+\ndata: .*\n\n$/s);
  });

  describe('a stalled reader', () => {
    /** Requests a stream of about 50 MB, more than socket buffers hold, and reads nothing until the run has ended. */
    const stall = async () => {
      const socket = await dial(gateway);
      const body = '{"model":"deep","input":"long 800000"}';
      socket.pause();
      socket.write(
        `POST /v1/responses HTTP/1.1\r\n${AUTH}Content-Type: application/json\r\nContent-Length: ${body.length}\r\n${CLOSE}\r\n${body}`,
      );
      await until(async () => {
        const { queued, inProgress } = await gateway.runs.countOpen();
        return (await streams()) === 1 && queued + inProgress === 0 ? true : undefined;
      });
      return socket;
    };
    const streams = async () => {
      const text = await gateway.parts.registry.metrics();
      return Number(/^gateway_sse_streams (\d+)$/m.exec(text)?.[1]);
    };

    it('does not block its run, and gets everything in the end', async () => {
      const socket = await stall();
      let received = '';
      for await (const data of socket) received += data;
      const text = chunksOf(received.slice(received.indexOf('\r\n\r\n') + 4)).join('');
      assert.match(text, /word799999 /);
      assert.match(text, /event: response\.completed/);
    });

    it('leaves no open stream when it disconnects', async () => {
      const socket = await stall();
      socket.destroy();
      await until(async () => ((await streams()) === 0 ? true : undefined));
    });
  });
});

function chunksOf(encoded: string): string[] {
  const chunks: string[] = [];
  let rest = Buffer.from(encoded);
  for (;;) {
    const end = rest.indexOf('\r\n');
    const length = Number.parseInt(rest.toString('latin1', 0, end), 16);
    if (!(length > 0)) return chunks;
    chunks.push(rest.toString('utf8', end + 2, end + 2 + length));
    rest = rest.subarray(end + 2 + length + 2);
  }
}

async function dial({ url }: TestGateway): Promise<Socket> {
  const socket = connect(Number(new URL(url).port), '127.0.0.1');
  socket.setEncoding('utf8');
  await once(socket, 'connect');
  return socket;
}

function connections({ server }: TestGateway): Promise<number> {
  return new Promise((resolve, reject) => {
    server.getConnections((error, count) => (error ? reject(error) : resolve(count)));
  });
}
