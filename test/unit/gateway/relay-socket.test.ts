import assert from 'node:assert/strict';
import { once } from 'node:events';
import { createServer as createHttpServer, request } from 'node:http';
import { type AddressInfo, connect, createServer, type Socket } from 'node:net';
import { yieldToEventLoop } from '../../../src/base/load/event-loop.ts';
import { SecretMask } from '../../../src/base/secrets/secret-mask.ts';
import { configSchema } from '../../../src/config/schema.ts';
import { MaskedFrames } from '../../../src/gateway/passthrough/masked-frames.ts';
import { closeWhenSilent, watchSocket } from '../../../src/gateway/passthrough/relay-socket.ts';
import { ProviderTarget } from '../../../src/upstream/provider-target.ts';
import { ConnectionPool } from '../../../src/upstream/transport/connection-pool.ts';

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

function targetAt(port: number): ProviderTarget {
  const { providers } = configSchema.parse({
    providers: { one: { base_url: `http://127.0.0.1:${port}/v1` } },
    models: { fast: { kind: 'proxy', routes: [{ provider: 'one', model: 'm' }] } },
    keys: [{ id: 'k', secret: 's' }],
  });
  const { one: config } = providers;
  assert.ok(config && 'base_url' in config);
  return new ProviderTarget({ config, pool: new ConnectionPool({ connections: 1, connectMs: 1000 }) }, undefined);
}

describe('a proxied WebSocket', () => {
  it('is closed after a long silence', async () => {
    await using stack = new AsyncDisposableStack();
    const { here } = await pair(stack);
    closeWhenSilent(here, { stalledMs: 10, silentMs: 30 });
    await once(here, 'close');
  });

  it('is closed if its peer reads nothing', async () => {
    await using stack = new AsyncDisposableStack();
    const { here, there } = await pair(stack);
    there.pause();
    while (here.write(Buffer.alloc(65_536)));
    closeWhenSilent(here, { stalledMs: 50, silentMs: 60_000 });
    await once(here, 'close');
  });

  it('is closed if its provider reads nothing', async () => {
    await using stack = new AsyncDisposableStack();
    const { here: socket, there } = await pair(stack);
    const provider = createHttpServer().on('upgrade', (_, theirs) => {
      theirs
        .on('error', () => {})
        .pause()
        .write('HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: upgrade\r\n\r\n');
      stack.defer(() => void theirs.destroy());
    });
    provider.listen(0, '127.0.0.1');
    await once(provider, 'listening');
    stack.defer(() => void provider.close());
    const { port } = provider.address() as AddressInfo;
    const target = targetAt(port);
    const proxyReq = request({ port, headers: { connection: 'upgrade', upgrade: 'websocket' } });
    watchSocket(proxyReq, socket, { target, fail: assert.fail, onAnswered() {} });
    proxyReq.end();
    await once(proxyReq, 'socket');
    const [, other] = await once(proxyReq, 'upgrade');
    while (!other.writableNeedDrain) {
      there.write(Buffer.alloc(65_536));
      await yieldToEventLoop();
    }
    other.emit('timeout');
    assert.ok(other.destroyed);
    await once(socket, 'close');
  });

  it('stays open while data arrives now and then', async () => {
    await using stack = new AsyncDisposableStack();
    const { here, there } = await pair(stack);
    closeWhenSilent(here, { stalledMs: 60_000, silentMs: 120_000 });
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

describe('frames of a proxied WebSocket', () => {
  it('leave in one piece if they arrived in one, however many they are', async () => {
    const frames = new MaskedFrames({ mask: new SecretMask(['sk-provider-0123456789']) });
    const pings = Buffer.from([0x89, 1, 0x61]).toString('latin1').repeat(10_000);
    frames.end(Buffer.from(pings, 'latin1'));
    const pieces: Buffer[] = await frames.toArray();
    assert.equal(pieces.length, 1);
    assert.equal(String(pieces[0]), Buffer.from(pings, 'latin1').toString());
  });

  it('break off if very many come in the middle of a message that may hold a credential', async () => {
    const frames = new MaskedFrames({ mask: new SecretMask(['sk-provider-0123456789']) });
    frames.write(Buffer.concat([Buffer.from([0x01, 11]), Buffer.from('sk-provider')]));
    frames.end(Buffer.from([0x89, 0, 0x00, 0]).toString('latin1').repeat(2100), 'latin1');
    await assert.rejects(frames.toArray(), /too many frames in the middle of a message/);
  });
});
