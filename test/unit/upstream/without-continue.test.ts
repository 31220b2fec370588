import assert from 'node:assert/strict';
import { once } from 'node:events';
import { connect, createServer, type Socket } from 'node:net';
import { withoutContinue } from '../../../src/upstream/transport/without-continue.ts';

const GO = 'HTTP/1.1 100 Continue\r\n\r\n';
const HEAD = 'HTTP/1.1 200 OK\r\n\r\n';

describe('an unsolicited 100 Continue', () => {
  it('is removed before each answer, and nowhere else', async () => {
    const server = createServer();
    server.listen(0, '127.0.0.1');
    await once(server, 'listening');
    const address = server.address();
    assert.ok(address && typeof address === 'object');
    const socket = connect(address.port, '127.0.0.1');
    const [[other]] = (await Promise.all([once(server, 'connection'), once(socket, 'connect')])) as [[Socket], unknown];
    withoutContinue((_, made) => made(null, socket))({ hostname: '', protocol: '', port: '' }, () => {});
    let heard = '';
    socket.on('readable', () => {
      for (let chunk = socket.read(); chunk !== null; chunk = socket.read()) heard += chunk;
    });
    /** Sends an answer in chunks, each once the one before was received. */
    const answer = async (chunks: readonly [sent: string, heard: string][]) => {
      socket.write('x');
      await once(other, 'data');
      for (const [sent, expected] of chunks) {
        heard = '';
        other.write(sent);
        while (heard.length < expected.length) await once(socket, 'readable');
        assert.equal(heard, expected);
      }
    };
    await answer([
      [GO + GO + HEAD, HEAD],
      [`${GO}body`, `${GO}body`],
    ]);
    await answer([[GO + HEAD, HEAD]]);
    await answer([[HEAD, HEAD]]);
    socket.destroy();
    server.close();
    await once(server, 'close');
  });
});
