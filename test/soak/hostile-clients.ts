import { once } from 'node:events';
import { createServer } from 'node:http';
import { type AddressInfo, connect } from 'node:net';
import { type RequestBomb, requestBombs, streamBombs } from '../support/request-bombs.ts';
import type { Soak } from './soak.ts';

/** What a hostile client may be answered: nothing else is documented for what it sends. */
const DOCUMENTED = new Set([200, 201, 400, 401, 403, 404, 405, 413, 415, 422, 429, 502, 503, 504]);

const bombs = requestBombs();

/** A provider whose every answer is a bomb, or breaks off in the middle of one. */
export async function startHostileProvider(): Promise<AsyncDisposable & { url: string }> {
  const streams = streamBombs();
  const server = createServer((request, response) => {
    request.resume();
    const { body } = pick(streams);
    response.writeHead(200, { 'content-type': 'text/event-stream' });
    if (Math.random() < 0.7) response.end(body);
    else response.write(body.slice(0, body.length / 2), () => response.destroy());
  });
  await once(server.listen(0, '127.0.0.1'), 'listening');
  const { port } = server.address() as AddressInfo;
  return {
    url: `http://127.0.0.1:${port}/v1`,
    async [Symbol.asyncDispose]() {
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}

/** One hostile visit: a bomb of a client or of a provider, noise, or a connection that stands still. */
export async function hostileVisit(soak: Soak): Promise<void> {
  const dice = Math.random();
  if (dice < 0.4) await drop(soak, pick(bombs));
  else if (dice < 0.6) await askHostileProvider(soak);
  else if (dice < 0.8) await noise(soak);
  else await standStill(soak);
  soak.faults++;
}

async function drop(
  soak: Soak,
  { method = 'POST', path, body = '', headers = {}, chunks }: RequestBomb,
): Promise<void> {
  const lines = {
    Host: '127.0.0.1',
    Authorization: `Bearer ${soak.attacker}`,
    'Content-Type': 'application/json',
    Connection: 'close',
    ...headers,
    ...(chunks ? { 'Transfer-Encoding': 'chunked' } : { 'Content-Length': String(Buffer.byteLength(body)) }),
  };
  const head = Object.entries(lines).map(([name, value]) => `${name}: ${value}\r\n`);
  await talk(soak, `${method} ${path} HTTP/1.1\r\n${head.join('')}\r\n`, chunks?.() ?? [body]);
}

/** What comes of a bomb is told as an answer or an error, in a stream or whole. */
async function askHostileProvider(soak: Soak): Promise<void> {
  const answer = await soak.ask('POST /v1/chat/completions', {
    key: soak.attacker,
    body: {
      model: pick(['bad-deep', 'bad-demo']),
      stream: Math.random() < 0.5,
      messages: [{ role: 'user', content: 'Where is it?' }],
    },
  });
  await answer?.text().catch(() => {});
  if (answer && !DOCUMENTED.has(answer.status)) soak.violated(`a hostile provider's answer came as ${answer.status}`);
}

async function noise(soak: Soak): Promise<void> {
  const methods = ['GET', 'POST', 'PUT', 'DELETE', 'PATCH', 'OPTIONS', 'BREW'];
  const paths = [
    '/v1/responses',
    '/v1/async/task_x',
    '/v1/models',
    '/v1/chat/completions',
    '/%00',
    '//..',
    '/v1/embeddings#x',
  ];
  const bytes = Array.from({ length: 200 }, () => String.fromCharCode(Math.floor(Math.random() * 256))).join('');
  const line = `${pick(methods)} ${pick(paths)} HTTP/1.1\r\nHost: 127.0.0.1\r\nAuthorization: Bearer ${pick([soak.attacker, 'x', bytes])}\r\n`;
  await talk(soak, `${line}Connection: close\r\nContent-Length: ${bytes.length}\r\n\r\n`, [bytes]);
}

/** Asks for something long and reads nothing, or sends half a body. */
async function standStill(soak: Soak): Promise<void> {
  const { url } = soak.anyInstance();
  const socket = connect(Number(new URL(url).port), '127.0.0.1');
  socket.on('error', () => {});
  socket.pause();
  const body = '{"model":"deep","input":"What is a run?"}';
  const missing = Math.random() < 0.5 ? 1 : 0;
  socket.write(
    `POST /v1/responses HTTP/1.1\r\nHost: 127.0.0.1\r\nAuthorization: Bearer ${soak.attacker}\r\nContent-Type: application/json\r\nContent-Length: ${body.length + missing}\r\n\r\n${body}`,
  );
  await soak.pause(3000);
  socket.destroy();
}

async function talk(soak: Soak, head: string, body: Iterable<string>): Promise<void> {
  const { url } = soak.anyInstance();
  const answer = await new Promise<string>((resolve) => {
    const socket = connect(Number(new URL(url).port), '127.0.0.1');
    let received = '';
    const limit = setTimeout(() => socket.destroy(), 30_000);
    socket.setEncoding('latin1').on('data', (text: string) => {
      if (received.length < 1000) received += text;
    });
    socket.on('error', () => {});
    socket.on('close', () => {
      clearTimeout(limit);
      resolve(received);
    });
    socket.write(head, 'latin1');
    for (const piece of body) if (!socket.destroyed) socket.write(piece, 'latin1');
  });
  soak.requests++;
  if (answer === '') return;
  const status = Number(answer.split(' ')[1]);
  if (!DOCUMENTED.has(status)) soak.violated(`${head.slice(0, 60)}: ${status}`);
}

function pick<T>(items: readonly T[]): T {
  const item = items[Math.floor(Math.random() * items.length)];
  if (item === undefined) throw new Error('nothing to pick from');
  return item;
}
