import assert from 'node:assert/strict';
import { hadItsShare, nextTurn } from '../../../src/base/load/event-loop.ts';
import { ConnectionPool } from '../../../src/upstream/transport/connection-pool.ts';
import type { AnswerHead, Exchange, ExchangeListener } from '../../../src/upstream/transport/exchange.ts';
import { HeldCall, type ReceiverControl } from '../../../src/upstream/transport/held-call.ts';

/** A pool whose only exchange notes what is asked of it. */
class NotingPool extends ConnectionPool {
  readonly asked: string[] = [];
  listener: ExchangeListener | undefined;

  constructor() {
    super({ connections: 1, connectMs: 1000 });
  }

  override send(_request: unknown, listener: ExchangeListener): Exchange {
    this.listener = listener;
    const note = (what: string) => () => void this.asked.push(what);
    return { pause: note('pause'), resume: note('resume'), abort: note('abort') };
  }
}

function work(ms: number): void {
  const until = performance.now() + ms;
  while (performance.now() < until);
}

/** A call whose receiver works for `ms` with each chunk. */
function call(pool: NotingPool, ms: number) {
  let control: ReceiverControl<string> | undefined;
  const options = {
    receiver: (_head: AnswerHead, given: ReceiverControl<string>) => {
      control = given;
      return { data: () => work(ms), end: () => 'ended', broken: () => 'broken' };
    },
    unanswered: () => 'unanswered',
    signal: new AbortController().signal,
  };
  const held = new HeldCall<string>(options, { first_byte: 60_000, idle: 60_000 });
  const result = held.send(pool, { method: 'POST', origin: 'http://a', path: '/', headers: {}, body: null });
  pool.listener?.head({ status: 200, headers: {} });
  assert.ok(control && pool.listener);
  return { result, control, listener: pool.listener };
}

const CHUNK = Buffer.from('x');

describe('an answer that takes long to read', () => {
  beforeEach(() => nextTurn());

  it('is read on in the next turn of the event loop', async () => {
    await using pool = new NotingPool();
    const { listener, result } = call(pool, 6);
    listener.data(CHUNK);
    assert.deepEqual(pool.asked, ['pause']);
    // What the connection has read already still comes.
    listener.data(CHUNK);
    await nextTurn();
    await nextTurn();
    assert.deepEqual(pool.asked, ['pause', 'resume']);
    listener.end();
    assert.equal(await result, 'ended');
  });

  it('is not read on where its reader is slow, until it is not', async () => {
    await using pool = new NotingPool();
    const { listener, control } = call(pool, 6);
    listener.data(CHUNK);
    control.pause();
    await nextTurn();
    await nextTurn();
    assert.ok(!pool.asked.includes('resume'), pool.asked.join());
    control.resume();
    assert.equal(pool.asked.at(-1), 'resume');
    listener.end();
  });

  it('takes of a share that all have together', async () => {
    assert.equal(hadItsShare(3), false);
    assert.equal(hadItsShare(3), true);
    assert.equal(hadItsShare(0), true);
    await nextTurn();
    assert.equal(hadItsShare(3), false);
  });
});
