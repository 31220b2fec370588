import assert from 'node:assert/strict';
import { once } from 'node:events';
import type { ServerResponse } from 'node:http';
import { connect } from 'node:net';
import { corkUntilTurnEnd } from '../../../src/base/load/turn-end.ts';
import { writeStream } from '../../../src/http/answers/sse.ts';
import { createHttpServer } from '../../../src/http/server.ts';

/** Never ends, and waits only for its reader. */
async function* endless(): AsyncGenerator<Uint8Array, void> {
  for (;;) yield new Uint8Array(64 * 1024);
}

describe('writeStream', () => {
  it('stays writable if its reader takes several pieces within one turn of the event loop', async () => {
    const pieces = 20;
    /** Each piece was corked, and uncorked because it was full, before the turn of the one before it ended. */
    async function* quicklyTaken(res: ServerResponse): AsyncGenerator<Uint8Array, void> {
      for (let piece = 0; piece < pieces; piece++) {
        corkUntilTurnEnd(res);
        res.uncork();
        yield new Uint8Array(1024 * 1024);
      }
    }
    const server = createHttpServer((_req, res) => {
      const stream = { kind: 'stream', chunks: quicklyTaken(res), headers: {} } as const;
      void writeStream(res, stream, { heartbeatMs: 60_000, signal: AbortSignal.timeout(60_000) });
    }).listen(0, '127.0.0.1');
    await once(server, 'listening');
    const address = server.address();
    const answer = await fetch(`http://127.0.0.1:${typeof address === 'object' && address ? address.port : 0}`);
    assert.equal((await answer.arrayBuffer()).byteLength, pieces * 1024 * 1024);
    server.close();
  });

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
