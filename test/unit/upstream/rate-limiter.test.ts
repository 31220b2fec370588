import assert from 'node:assert/strict';
import { RateLimiter } from '../../../src/upstream/routing/rate-limiter.ts';

const signal = new AbortController().signal;
const PATIENCE = { pauseMs: 60_000, slotMs: 60_000, insists: false };
const PATIENT = () => PATIENCE;
const POLICY = { pauseMs: 1000, maxPauseMs: 4000 };

function limiter() {
  let now = 1000;
  const shared = new RateLimiter({ now: () => now }, POLICY);
  const pass = (ms: number) => {
    now += ms;
  };
  return { shared, pass };
}

describe('RateLimiter', () => {
  it('holds nobody back before the provider limits', async () => {
    const { shared } = limiter();
    for (let i = 0; i < 500; i += 1) await shared.acquire(signal, PATIENT);
    assert.equal(shared.running, 500);
  });

  it('pauses everybody for as long as the provider asks', () => {
    const { shared, pass } = limiter();
    shared.limited(700);
    assert.equal(shared.pauseMs, 700);
    pass(700);
    assert.equal(shared.pauseMs, 0);
  });

  it('pauses for at most an hour, whatever the provider asks', () => {
    const { shared } = limiter();
    shared.limited(999_999_999_999_000);
    assert.equal(shared.pauseMs, 3_600_000);
  });

  it('pauses longer with each consecutive limit if the provider names no time', () => {
    const { shared, pass } = limiter();
    for (const pause of [1000, 2000, 4000, 4000]) {
      shared.limited(undefined);
      assert.equal(shared.pauseMs, pause);
      pass(pause);
    }
  });

  it('halves concurrency after a limit, then adds one with each success', async () => {
    const { shared, pass } = limiter();
    const slots = await Promise.all(Array.from({ length: 4 }, () => shared.acquire(signal, PATIENT)));
    shared.limited(10);
    pass(10);
    for (const slot of slots) slot?.[Symbol.dispose]();
    const first = await shared.acquire(signal, PATIENT);
    await shared.acquire(signal, PATIENT);
    const order: string[] = [];
    const third = shared.acquire(signal, PATIENT).then(() => order.push('third'));
    const fourth = shared.acquire(signal, PATIENT).then(() => order.push('fourth'));
    await new Promise(setImmediate);
    assert.deepEqual(order, [], 'no one starts while both slots are taken');
    first?.[Symbol.dispose]();
    await third;
    shared.succeeded();
    await fourth;
    assert.deepEqual(order, ['third', 'fourth']);
    assert.equal(shared.running, 3);
  });

  it('counts the limits of calls that were under way together once', async () => {
    const { shared, pass } = limiter();
    const slots = await Promise.all(Array.from({ length: 8 }, () => shared.acquire(signal, PATIENT)));
    pass(50);
    for (const slot of slots) {
      shared.limited(undefined, 1000);
      slot?.[Symbol.dispose]();
      pass(1);
    }
    assert.equal(shared.pauseMs, 1000 - slots.length);
    pass(1000);
    for (let n = 0; n < 4; n++) await shared.acquire(signal, PATIENT);
    assert.deepEqual([shared.running, shared.isFree], [4, false]);
  });

  it('lets a call go that waits for too long, or start without a slot if it insists', async () => {
    const { shared, pass } = limiter();
    const slot = await shared.acquire(signal, PATIENT);
    shared.limited(10);
    assert.equal(await shared.acquire(signal, () => ({ ...PATIENCE, pauseMs: 9 })), undefined);
    pass(10);
    for (const slotMs of [0, 1]) {
      assert.equal(await shared.acquire(signal, () => ({ ...PATIENCE, slotMs })), undefined);
      const without = await shared.acquire(signal, () => ({ ...PATIENCE, slotMs, insists: true }));
      assert.equal(without?.permits, 0);
    }
    slot?.[Symbol.dispose]();
    assert.equal((await shared.acquire(signal, PATIENT))?.permits, 1);
  });

  it('forgets waiters that left', async () => {
    const { shared, pass } = limiter();
    await shared.acquire(signal, PATIENT);
    const gone = new AbortController();
    shared.limited(5);
    pass(5);
    const left = shared.acquire(gone.signal, PATIENT);
    gone.abort(new Error('left'));
    await assert.rejects(left, /left/);
    const waiting = shared.acquire(signal, PATIENT);
    shared.succeeded();
    await waiting;
    assert.equal(shared.running, 2);
  });
});
