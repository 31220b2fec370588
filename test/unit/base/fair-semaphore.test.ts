import assert from 'node:assert/strict';
import { setImmediate as turnOfLoop } from 'node:timers/promises';
import fc from 'fast-check';
import { FairSemaphore, type Permit, semaphoreRefusals } from '../../../src/base/fair-semaphore.ts';

const never = new AbortController().signal;
const full = () => new Error('full');

/** Records the order in which owners get permits; `endOne` releases the oldest permit. */
function workshop(turns: FairSemaphore) {
  const began: string[] = [];
  const held: Disposable[] = [];
  return {
    began,
    send: (owner: string, signal = never) =>
      turns.acquire(owner, signal).then((permit) => {
        began.push(owner);
        held.push(permit);
      }),
    async endOne() {
      held.shift()?.[Symbol.dispose]();
      await turnOfLoop();
    },
  };
}

describe('FairSemaphore', () => {
  it('admits a second owner before the backlog of the first', async () => {
    const { began, send, endOne } = workshop(
      new FairSemaphore({ name: 'test', permits: 2, maxWaiting: 100, fullError: full }),
    );
    const sent = [...'aaaaaaaa', ...'bb', 'c'].map((owner) => send(owner));
    await turnOfLoop();
    assert.deepEqual(began, ['a', 'a']);
    for (let n = 0; n < 9; n++) await endOne();
    await Promise.all(sent);
    assert.deepEqual(began.slice(2, 5), ['b', 'c', 'a']);
    assert.equal(began.filter((owner) => owner === 'a').length, 8);
  });

  it('keeps permits free for others if each owner has a limit', async () => {
    const { began, send } = workshop(
      new FairSemaphore({ name: 'test', permits: 4, perOwner: 2, maxWaiting: 100, fullError: full }),
    );
    for (const owner of 'aaaab') void send(owner);
    await turnOfLoop();
    assert.deepEqual(began, ['a', 'a', 'b']);
  });

  it('refuses an owner before its waiters fill the whole queue', async () => {
    const { send } = workshop(new FairSemaphore({ name: 'test', permits: 1, maxWaiting: 8, fullError: full }));
    void send('a');
    const crowd = await Promise.allSettled(
      Array.from({ length: 20 }, () => Promise.race([send('a'), turnOfLoop().then(() => 'waits')])),
    );
    assert.equal(crowd.filter(({ status }) => status === 'fulfilled').length, 5);
    void send('b');
    void send('b');
    await assert.rejects(send('a'), /full/);
  });

  it('drops waiters that abort, without losing a permit', async () => {
    const { began, send, endOne } = workshop(
      new FairSemaphore({ name: 'test', permits: 1, maxWaiting: 8, fullError: full }),
    );
    await send('a');
    const leaving = new AbortController();
    const left = send('b', leaving.signal);
    const stays = send('c');
    leaving.abort(new Error('left'));
    await assert.rejects(left, /left/);
    await endOne();
    await stays;
    await endOne();
    await send('d');
    assert.deepEqual(began, ['a', 'c', 'd']);
  });

  it('counts permits that grow, returns them all at once, and reports refusals but not tries', () => {
    const bytes = new FairSemaphore({ name: 'test', permits: 100, perOwner: 'what is left', fullError: full });
    const told: unknown[] = [];
    const listen = (name: unknown) => void told.push(name);
    semaphoreRefusals.subscribe(listen);
    const first = bytes.open('a');
    first.grow(50);
    assert.equal(first.tryGrow(1), false);
    assert.throws(() => first.grow(1), /full/);
    const second = bytes.take('b', 25);
    assert.equal(bytes.open('c').tryGrow(26), false);
    first[Symbol.dispose]();
    first[Symbol.dispose]();
    assert.equal(bytes.held, 25);
    second[Symbol.dispose]();
    assert.equal(bytes.held, 0);
    assert.deepEqual(told, ['test'], 'refusals are told, looks are not');
    semaphoreRefusals.unsubscribe(listen);
  });

  it('admits waiters when the limit grows', async () => {
    let bound = 1;
    const turns = new FairSemaphore({ name: 'test', permits: () => bound, maxWaiting: 10, fullError: full });
    const { began, send } = workshop(turns);
    for (const owner of 'abc') void send(owner);
    await turnOfLoop();
    bound = 2;
    turns.serve();
    await turnOfLoop();
    assert.deepEqual(began, ['a', 'b']);
    assert.equal(turns.waiting, 1);
  });

  it('stays within its limit, loses no permit and starves nobody, under any sequence of operations', async () => {
    const owner = fc.constantFrom('a', 'b', 'c');
    const step = fc.oneof(
      { weight: 4, arbitrary: fc.record({ does: fc.constant('come' as const), owner }) },
      { weight: 2, arbitrary: fc.record({ does: fc.constant('take' as const), owner, permits: fc.nat(3) }) },
      { weight: 3, arbitrary: fc.record({ does: fc.constant('end' as const), at: fc.nat(9) }) },
      { weight: 1, arbitrary: fc.record({ does: fc.constant('leave' as const), at: fc.nat(9) }) },
      { weight: 1, arbitrary: fc.record({ does: fc.constant('bound' as const), to: fc.integer({ min: 1, max: 4 }) }) },
    );
    const ofOwner = fc.constantFrom(undefined, 2, 'what is left' as const);
    await fc.assert(
      fc.asyncProperty(fc.array(step, { maxLength: 60 }), ofOwner, async (steps, share) => {
        let bound = 3;
        const options = { name: 'test', permits: () => bound, maxWaiting: 6, fullError: full };
        const turns = new FairSemaphore(share === undefined ? options : { ...options, perOwner: share });
        const out: { owner: string; permits: number; permit: Permit }[] = [];
        const waiting = new Map<AbortController, string>();
        const held = () => out.reduce((sum, { permits }) => sum + permits, 0);
        const end = (at: number) => out.splice(at, 1)[0]?.permit[Symbol.dispose]();
        for (const each of steps) {
          const before = held();
          if (each.does === 'come') {
            const leaving = new AbortController();
            waiting.set(leaving, each.owner);
            const over = () => void waiting.delete(leaving);
            turns.acquire(each.owner, leaving.signal).then((permit) => {
              over();
              out.push({ owner: each.owner, permits: 1, permit });
            }, over);
          } else if (each.does === 'take') {
            const permit = turns.open(each.owner);
            if (permit.tryGrow(each.permits)) out.push({ owner: each.owner, permits: each.permits, permit });
          } else if (each.does === 'end') end(each.at % (out.length || 1));
          else if (each.does === 'leave') [...waiting.keys()][each.at]?.abort(new Error('left'));
          else {
            bound = each.to;
            turns.serve();
          }
          await turnOfLoop();
          assert.equal(turns.held, held());
          assert.equal(turns.waiting, waiting.size);
          assert.ok(held() <= Math.max(bound, before), 'above the bound');
          if (share === undefined) assert.ok(held() >= bound || waiting.size === 0, 'one waits beside a free permit');
        }
        for (let n = 0; waiting.size > 0; n++) {
          assert.ok(n < 100, 'somebody waits for ever');
          end(0);
          await turnOfLoop();
        }
        while (out.length > 0) end(0);
        assert.deepEqual([turns.held, turns.waiting], [0, 0]);
      }),
      { numRuns: 300 },
    );
  });
});
