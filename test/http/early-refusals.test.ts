import assert from 'node:assert/strict';
import { once } from 'node:events';
import { request as httpRequest, type IncomingMessage } from 'node:http';
import { type AddressInfo, createServer, type Socket } from 'node:net';
import { CLIENT_KEY, startProxyGateway } from '../support/proxy-gateway.ts';

const BODY = JSON.stringify({
  error: { message: 'Too large.', type: 'invalid_request_error', param: null, code: null },
});
/** More bytes than the socket buffers of two connections hold. */
const UPLOAD = 16 * 1024 * 1024;

/** How a provider closes after it has answered during an upload. */
type Close = 'destroy' | 'end' | 'end and read';

/** A provider that answers 413 to the first bytes of a body and closes. */
async function startHastyProvider(close: Close) {
  const sockets = new Set<Socket>();
  const server = createServer((socket) => {
    sockets.add(socket);
    socket.on('error', () => {});
    let seen = '';
    socket.on('data', (chunk: Buffer) => {
      if (seen.includes('\r\n\r\n')) return;
      seen += chunk.toString('latin1');
      if (!seen.includes('\r\n\r\n')) return;
      const head = `HTTP/1.1 413 Payload Too Large\r\ncontent-type: application/json\r\nconnection: close\r\n`;
      const answer = `${head}content-length: ${BODY.length}\r\n\r\n${BODY}`;
      if (close !== 'end and read') socket.pause();
      if (close === 'destroy') socket.write(answer, () => socket.destroy());
      else socket.end(answer);
    });
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  return {
    url: `http://127.0.0.1:${port}/v1`,
    async [Symbol.asyncDispose]() {
      for (const socket of sockets) socket.destroy();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}

/** Uploads to the gateway as fast as it reads, and returns its answer. */
async function upload(gateway: { url: string }, path: string, head: Buffer, type: string) {
  const url = new URL(gateway.url + path);
  const headers = { authorization: `Bearer ${CLIENT_KEY}`, 'content-type': type, 'content-length': UPLOAD };
  const request = httpRequest(url, { method: 'POST', headers });
  const answered = once(request, 'response') as Promise<[IncomingMessage]>;
  request.on('error', () => {});
  let over = false;
  void answered.then(
    () => (over = true),
    () => (over = true),
  );
  const piece = Buffer.alloc(64 * 1024, 0x20);
  request.write(head);
  let left = UPLOAD - head.length;
  while (left > 0 && !over) {
    const size = Math.min(left, piece.length);
    left -= size;
    if (!request.write(piece.subarray(0, size))) await Promise.race([once(request, 'drain'), answered]).catch(() => {});
  }
  if (left === 0) request.end();
  const [answer] = await answered;
  const text = Buffer.concat(await answer.toArray()).toString();
  request.destroy();
  return { status: answer.statusCode, text };
}

describe('an upload that its provider refuses before it is complete', () => {
  for (const close of ['destroy', 'end', 'end and read'] as const) {
    it(`is answered with the refusal if it is streamed through (${close})`, async () => {
      await using provider = await startHastyProvider(close);
      await using gateway = await startProxyGateway({
        providers: { only: { url: provider.url } },
        passthrough: [{ path: '/v1/files', provider: 'only' }],
        key: { passthrough: ['/v1/files'] },
      });
      for (let n = 0; n < 5; n += 1) {
        const { status, text } = await upload(gateway, '/files', Buffer.of(), 'application/octet-stream');
        assert.deepEqual([status, text], [413, BODY]);
      }
    });

    it(`is answered with the refusal if it is buffered (${close})`, async () => {
      await using provider = await startHastyProvider(close);
      await using gateway = await startProxyGateway({
        providers: { only: { url: provider.url } },
        server: { body_limit: '40mb' },
      });
      for (let n = 0; n < 2; n += 1) {
        const head = Buffer.from('{"model":"fast","input":"');
        const { status, text } = await upload(
          gateway,
          '/images/edits',
          Buffer.concat([head, Buffer.from('"}')]),
          'application/json',
        );
        assert.deepEqual([status, text], [413, BODY]);
      }
    });
  }
});
