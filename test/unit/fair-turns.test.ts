import assert from 'node:assert/strict';
import { setImmediate as turnOfLoop } from 'node:timers/promises';
import fc from 'fast-check';
import { FairTurns } from '../../src/base/fair-turns.ts';

const never = new AbortController().signal;
const full = () => new Error('full');

/** Work of owners, in the order in which it begins; each piece ends when it is told to. */
function workshop(turns: FairTurns) {
  const began: string[] = [];
  const places: Disposable[] = [];
  return {
    began,
    send: (owner: string, signal = never) =>
      turns.enter(owner, signal).then((place) => {
        began.push(owner);
        places.push(place);
      }),
    async endOne() {
      places.shift()?.[Symbol.dispose]();
      await turnOfLoop();
    },
  };
}

describe('fair turns', () => {
  it('let a second owner in before the crowd of the first', async () => {
    const { began, send, endOne } = workshop(new FairTurns({ places: 2, maxWaiting: 100, full }));
    const sent = [...'aaaaaaaa', ...'bb', 'c'].map((owner) => send(owner));
    await turnOfLoop();
    assert.deepEqual(began, ['a', 'a']);
    for (let n = 0; n < 9; n++) await endOne();
    await Promise.all(sent);
    assert.deepEqual(began.slice(2, 5), ['b', 'c', 'a']);
    assert.equal(began.filter((owner) => owner === 'a').length, 8);
  });

  it('keep a place for others where one owner may not have all', async () => {
    const { began, send } = workshop(new FairTurns({ places: 4, ofOwner: 2, maxWaiting: 100, full }));
    for (const owner of 'aaaab') void send(owner);
    await turnOfLoop();
    assert.deepEqual(began, ['a', 'a', 'b']);
  });

  it('refuse one owner before all that may wait is its', async () => {
    const { send } = workshop(new FairTurns({ places: 1, maxWaiting: 8, full }));
    void send('a');
    const crowd = await Promise.allSettled(
      Array.from({ length: 20 }, () => Promise.race([send('a'), turnOfLoop().then(() => 'waits')])),
    );
    assert.equal(crowd.filter(({ status }) => status === 'fulfilled').length, 5);
    void send('b');
    void send('b');
    await assert.rejects(send('a'), /full/);
  });

  it('forget those that leave, and lose no place over it', async () => {
    const { began, send, endOne } = workshop(new FairTurns({ places: 1, maxWaiting: 8, full }));
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

  it('give out every place and no more, whoever comes, leaves and ends in whatever order', async () => {
    const step = fc.oneof(
      fc.record({ does: fc.constant('come' as const), owner: fc.constantFrom('a', 'b', 'c') }),
      fc.record({ does: fc.constantFrom('end' as const, 'leave' as const), at: fc.nat(7) }),
    );
    await fc.assert(
      fc.asyncProperty(fc.array(step, { maxLength: 40 }), async (steps) => {
        const turns = new FairTurns({ places: 2, maxWaiting: 6, full });
        const places: Disposable[] = [];
        const waiting = new Set<AbortController>();
        for (const each of steps) {
          if (each.does === 'come') {
            const leaving = new AbortController();
            waiting.add(leaving);
            const over = () => void waiting.delete(leaving);
            turns.enter(each.owner, leaving.signal).then((place) => {
              over();
              places.push(place);
            }, over);
          } else if (each.does === 'end') places.splice(each.at % (places.length || 1), 1)[0]?.[Symbol.dispose]();
          else [...waiting][each.at]?.abort(new Error('left'));
          await turnOfLoop();
          assert.ok(places.length <= 2);
          assert.ok(places.length === 2 || waiting.size === 0, 'nobody waits beside a free place');
        }
      }),
      { numRuns: 100 },
    );
  });
});
