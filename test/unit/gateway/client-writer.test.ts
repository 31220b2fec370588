import assert from 'node:assert/strict';
import { once } from 'node:events';
import { createServer, get, type IncomingMessage, type ServerResponse } from 'node:http';
import { mock } from 'node:test';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { ClientWriter, endAnswer } from '../../../src/gateway/client-writer.ts';
import { until } from '../../support/http-gateway.ts';

const STALLED_MS = 5 * 60_000;

/** An answer on its way to a client that reads nothing yet, and the source that it comes from. */
async function answering() {
  const server = createServer().listen(0, '127.0.0.1');
  await once(server, 'listening');
  const address = server.address();
  const port = typeof address === 'object' && address ? address.port : 0;
  const answered = Promise.withResolvers<IncomingMessage>();
  const request = get({ port, host: '127.0.0.1', agent: false }, answered.resolve);
  request.on('error', answered.reject);
  const [, res]: ServerResponse[] = await once(server, 'request');
  assert.ok(res);
  const source = { paused: 0, resumed: 0, pause: () => void source.paused++, resume: () => void source.resumed++ };
  const writer = new ClientWriter({ res }, source);
  return {
    res,
    source,
    writer,
    client: answered.promise,
    /** Writes more than sockets hold. */
    fill: () => writer.write(Buffer.alloc(16 * 1024 ** 2)),
    async [Symbol.asyncDispose]() {
      request.destroy();
      server.close();
      server.closeAllConnections();
      await once(server, 'close');
    },
  };
}

const timers = () => process.getActiveResourcesInfo().filter((name) => name === 'Timeout').length;

describe('an answer to a slow client', () => {
  afterEach(() => mock.timers.reset());

  it('is aborted, and its source resumed, if the client reads nothing for five minutes', async () => {
    await using answer = await answering();
    mock.timers.enable({ apis: ['setTimeout'] });
    answer.writer.sendHead(200, {});
    answer.fill();
    assert.deepEqual([answer.source.paused, answer.source.resumed], [1, 0]);
    (await answer.client).on('error', () => {}).pause();
    mock.timers.tick(STALLED_MS - 1);
    assert.equal(answer.res.destroyed, false);
    const closed = once(answer.res, 'close');
    mock.timers.tick(1);
    assert.equal(answer.res.destroyed, true);
    await closed;
    assert.equal(answer.source.resumed, 1, 'whoever waits for it finds that nobody reads');
  });

  it('continues once the client reads again, and then has no time limit', async () => {
    await using answer = await answering();
    mock.timers.enable({ apis: ['setTimeout'] });
    answer.writer.sendHead(200, {});
    answer.fill();
    const drained = once(answer.res, 'drain');
    (await answer.client).resume();
    await drained;
    assert.equal(answer.source.resumed, 1);
    mock.timers.tick(STALLED_MS);
    assert.equal(answer.res.destroyed, false);
    answer.fill();
    await once(answer.res, 'drain');
    assert.deepEqual([answer.source.paused, answer.source.resumed], [2, 2], 'once for each wait');
  });

  it('is aborted after its end too, and leaves no timer behind once it was read', async () => {
    // Mocha's own timer begins a moment after the test.
    await nextTurn();
    const before = timers();
    {
      await using taken = await answering();
      endAnswer(taken.res, Buffer.alloc(16 * 1024 ** 2));
      await once((await taken.client).resume(), 'end');
    }
    await until(async () => (timers() <= before ? true : undefined));
    await using left = await answering();
    mock.timers.enable({ apis: ['setTimeout'] });
    endAnswer(left.res, Buffer.alloc(16 * 1024 ** 2));
    (await left.client).on('error', () => {}).pause();
    mock.timers.tick(STALLED_MS - 1);
    assert.equal(left.res.destroyed, false);
    mock.timers.tick(1);
    assert.equal(left.res.destroyed, true);
  });
});
