import assert from 'node:assert/strict';
import { once } from 'node:events';
import { connect, createServer, type Socket } from 'node:net';
import { SecretMask } from '../../../src/base/secrets/secret-mask.ts';
import { MaskedFrames } from '../../../src/gateway/unheld/masked-frames.ts';
import { endWhenSilent } from '../../../src/gateway/unheld/passed-socket.ts';

/** Both ends of a connection. */
async function pair(stack: AsyncDisposableStack): Promise<{ here: Socket; there: Socket }> {
  const server = createServer();
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const address = server.address();
  assert.ok(address && typeof address === 'object');
  const there = connect(address.port, '127.0.0.1');
  const [here] = await once(server, 'connection');
  for (const end of [here, there]) stack.defer(() => end.on('error', () => {}).destroy());
  stack.defer(() => void server.close());
  return { here, there };
}

describe('a passed WebSocket', () => {
  it('is closed where nothing is said for long', async () => {
    await using stack = new AsyncDisposableStack();
    const { here } = await pair(stack);
    endWhenSilent(here, { stalledMs: 10, silentMs: 30 });
    await once(here, 'close');
  });

  it('is closed where its peer takes nothing', async () => {
    await using stack = new AsyncDisposableStack();
    const { here, there } = await pair(stack);
    there.pause();
    while (here.write(Buffer.alloc(65_536)));
    endWhenSilent(here, { stalledMs: 50, silentMs: 60_000 });
    await once(here, 'close');
  });

  it('stays where something is said now and then', async () => {
    await using stack = new AsyncDisposableStack();
    const { here, there } = await pair(stack);
    endWhenSilent(here, { stalledMs: 60_000, silentMs: 120_000 });
    for (let n = 0; n < 5; n++) {
      here.emit('timeout');
      there.write('x');
      await once(here, 'data');
      here.emit('timeout');
      assert.equal(here.destroyed, false);
    }
    here.emit('timeout');
    here.emit('timeout');
    assert.ok(here.destroyed);
  });
});

describe('the frames of a passed WebSocket', () => {
  it('go on in one piece that came in one, however many they are', async () => {
    const frames = new MaskedFrames({ mask: new SecretMask(['sk-provider-0123456789']) });
    const pings = Buffer.from([0x89, 1, 0x61]).toString('latin1').repeat(10_000);
    frames.end(Buffer.from(pings, 'latin1'));
    const pieces: Buffer[] = await frames.toArray();
    assert.equal(pieces.length, 1);
    assert.equal(String(pieces[0]), Buffer.from(pings, 'latin1').toString());
  });
});
