import assert from 'node:assert/strict';
import { once } from 'node:events';
import type { RequestListener, ServerResponse } from 'node:http';
import { connect } from 'node:net';
import { createHttpServer } from '../../../src/http/server.ts';

/** A connection to a server that answers with `answer`. */
async function connected(answer: RequestListener) {
  const server = createHttpServer(answer).listen(0, '127.0.0.1');
  await once(server, 'listening');
  const address = server.address();
  const socket = connect(typeof address === 'object' && address ? address.port : 0, '127.0.0.1');
  socket.on('error', () => {});
  return {
    socket,
    [Symbol.dispose]() {
      socket.destroy();
      server.close();
    },
  };
}

const REQUEST = 'GET / HTTP/1.1\r\nHost: a\r\n\r\n';

describe('pipelined requests', () => {
  it('are served as long as few are ahead of their answers', async () => {
    let last: ServerResponse | undefined;
    // The next request comes before the one before it is answered.
    using to = await connected((_req, res) => {
      last?.end();
      last = res;
    });
    to.socket.write(REQUEST.repeat(2));
    let answers = 0;
    for await (const chunk of to.socket) {
      const more = String(chunk).split('HTTP/1.1 200').length - 1;
      answers += more;
      if (answers >= 300) break;
      to.socket.write(REQUEST.repeat(more));
    }
    assert.ok(answers >= 300, `${answers} answers`);
  });

  it('close the connection, without an extra response, on invalid HTTP in the middle of one', async () => {
    let asked = 0;
    using to = await connected((_req, res) => void (asked++ === 0 ? res.end('whole') : res.write('a piece')));
    let seen = '';
    to.socket.on('data', (bytes) => (seen += bytes));
    const saw = async (word: string) => {
      while (!seen.includes(word)) await once(to.socket, 'data');
    };
    to.socket.write(REQUEST);
    await saw('whole');
    to.socket.write(REQUEST);
    await saw('a piece');
    const closed = once(to.socket, 'close');
    to.socket.write('nonsense\r\n\r\n');
    await closed;
    assert.equal(seen.split('HTTP/1.1').length - 1, 2, seen);
  });

  it('close the connection if more than a hundred wait', async () => {
    let asked = 0;
    using to = await connected(() => asked++);
    const closed = once(to.socket, 'close');
    to.socket.resume().write(REQUEST.repeat(102));
    await closed;
    assert.equal(asked, 100);
  });
});
