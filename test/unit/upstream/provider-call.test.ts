import assert from 'node:assert/strict';
import { once } from 'node:events';
import { mock } from 'node:test';
import { Worker } from 'node:worker_threads';
import type { Dispatcher } from 'undici';
import { exceedsTurnShare, yieldToEventLoop } from '../../../src/base/load/event-loop.ts';
import { ConnectionPool } from '../../../src/upstream/transport/connection-pool.ts';
import { type AnswerHead, ProviderCall, type ReceiverControl } from '../../../src/upstream/transport/provider-call.ts';
import { patience } from '../../support/time-limit.ts';

/** A pool whose only connection records the calls to it. */
class NotingPool extends ConnectionPool {
  readonly asked: string[] = [];
  readonly begun = Promise.withResolvers<Dispatcher.DispatchHandler>();
  readonly connection = new NotingConnection(this.asked);

  constructor() {
    super({ connections: 1, connectMs: 1000 });
  }

  override dispatch(_request: unknown, handler: Dispatcher.DispatchHandler): void {
    this.begun.resolve(handler);
  }
}

class NotingConnection implements Dispatcher.DispatchController {
  readonly aborted = false;
  readonly paused = false;
  readonly reason = null;
  readonly #asked: string[];

  constructor(asked: string[]) {
    this.#asked = asked;
  }

  pause(): void {
    this.#asked.push('pause');
  }

  resume(): void {
    this.#asked.push('resume');
  }

  abort(): void {
    this.#asked.push('abort');
  }
}

function work(ms: number): void {
  const until = performance.now() + ms;
  while (performance.now() < until);
}

/** A call whose receiver is busy for `ms` with each chunk, and for `endMs` at the end. */
async function call(pool: NotingPool, ms: number, { endMs = 0, idle = 60_000, gathers = false } = {}) {
  let control: ReceiverControl<string> | undefined;
  const options = {
    receiver: (_head: AnswerHead, given: ReceiverControl<string>) => {
      control = given;
      const end = () => {
        work(endMs);
        return 'ended';
      };
      const data = () => (gathers ? given.soon(() => work(ms)) : work(ms));
      return { gathers, data, end, broken: () => 'broken' };
    },
    unanswered: () => 'unanswered',
    signal: new AbortController().signal,
  };
  const held = new ProviderCall<string>(options, { first_byte: 60_000, idle });
  const result = held.send(pool, { method: 'POST', origin: 'http://a', path: '/', headers: {}, body: null });
  const handler = await pool.begun.promise;
  const { connection } = pool;
  handler.onRequestStart?.(connection, {});
  handler.onResponseStart?.(connection, 200, {});
  assert.ok(control);
  const listener = {
    data: (chunk: Buffer) => handler.onResponseData?.(connection, chunk),
    end: () => handler.onResponseEnd?.(connection, {}),
  };
  await yieldToEventLoop();
  // In an object, because returning a promise from an async function would await it.
  return { result: { promise: result }, control, listener };
}

const CHUNK = Buffer.from('x');

describe('the idle timeout of a provider call', () => {
  afterEach(() => {
    mock.timers.reset();
    mock.restoreAll();
  });

  for (const [how, gathers] of [
    ['as it arrives', false],
    ['together with others in a turn', true],
  ] as const) {
    it(`restarts with each chunk that is read ${how}`, async () => {
      let now = 0;
      mock.method(performance, 'now', () => now);
      mock.timers.enable({ apis: ['setTimeout'] });
      await using pool = new NotingPool();
      const { control, listener, result } = await call(pool, 0, { idle: 900, gathers });
      const wait = async (ms: number) => {
        now += ms;
        mock.timers.tick(ms);
        await new Promise(process.nextTick);
      };
      control.started();
      for (let n = 0; n < 4; n++) {
        await wait(600);
        listener.data(CHUNK);
        await wait(0);
      }
      await wait(800);
      assert.ok(!pool.asked.includes('abort'));
      await wait(300);
      assert.equal(await result.promise, 'broken');
    });
  }
});

describe('a compressed answer', () => {
  // In a worker, because a loop that never waits would stop the tests for ever.
  it('may come in several packets', async () => {
    const worker = new Worker(new URL('../../support/deflated-call.ts', import.meta.url));
    try {
      const [text] = await once(worker, 'message', { signal: AbortSignal.timeout(patience(9)) });
      assert.equal(text, 'in two pieces '.repeat(20));
    } finally {
      await worker.terminate();
    }
  });
});

describe('an answer that takes long to read', () => {
  beforeEach(() => yieldToEventLoop());

  it('pauses, and resumes in the next turn of the event loop', async () => {
    await using pool = new NotingPool();
    const { listener, result } = await call(pool, 6);
    listener.data(CHUNK);
    assert.deepEqual(pool.asked, ['pause']);
    // Chunks that the connection has already read still arrive.
    listener.data(CHUNK);
    await yieldToEventLoop();
    await yieldToEventLoop();
    assert.deepEqual(pool.asked, ['pause', 'resume']);
    listener.end();
    assert.equal(await result.promise, 'ended');
  });

  it('stays paused while its reader is slow', async () => {
    await using pool = new NotingPool();
    const { listener, control } = await call(pool, 6);
    listener.data(CHUNK);
    control.pause();
    await yieldToEventLoop();
    await yieldToEventLoop();
    assert.ok(!pool.asked.includes('resume'), pool.asked.join());
    control.resume();
    assert.equal(pool.asked.at(-1), 'resume');
    listener.end();
  });

  it('ends in a turn of its own if many end at once', async () => {
    await using first = new NotingPool();
    await using second = new NotingPool();
    const [one, two] = [await call(first, 0, { endMs: 20 }), await call(second, 0, { idle: 10 })];
    const ended: string[] = [];
    void one.result.promise.then(() => ended.push('one'));
    void two.result.promise.then(() => ended.push('two'));
    one.listener.end();
    two.listener.end();
    await Promise.resolve();
    assert.deepEqual(ended, ['one']);
    assert.equal(await two.result.promise, 'ended', 'its time limit pauses while it waits');
  });

  it('shares a time budget per turn with all others', async () => {
    assert.equal(exceedsTurnShare(3), false);
    assert.equal(exceedsTurnShare(3), true);
    assert.equal(exceedsTurnShare(0), true);
    await yieldToEventLoop();
    assert.equal(exceedsTurnShare(3), false);
  });
});
