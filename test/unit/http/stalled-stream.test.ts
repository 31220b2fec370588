import { once } from 'node:events';
import { connect } from 'node:net';
import { writeStream } from '../../../src/http/answers/sse.ts';
import { createHttpServer } from '../../../src/http/server.ts';

/** Never ends, and waits only for its reader. */
async function* endless(): AsyncGenerator<Uint8Array, void> {
  for (;;) yield new Uint8Array(64 * 1024);
}

describe('writeStream', () => {
  it('ends the connection of a reader that reads nothing, despite heartbeats', async () => {
    const ended = Promise.withResolvers<void>();
    const left = new AbortController();
    const server = createHttpServer(
      (_req, res) => {
        res.once('close', () => left.abort());
        const stream = { kind: 'stream', chunks: endless(), headers: {} } as const;
        writeStream(res, stream, { heartbeatMs: 20, signal: left.signal }).then(ended.resolve, ended.reject);
      },
      { stalled: 250 },
    ).listen(0, '127.0.0.1');
    await once(server, 'listening');
    const address = server.address();
    const socket = connect(typeof address === 'object' && address ? address.port : 0, '127.0.0.1');
    socket.on('error', () => {}).pause();
    socket.write('GET / HTTP/1.1\r\nHost: a\r\n\r\n');
    await ended.promise;
    socket.destroy();
    server.close();
  });
});
