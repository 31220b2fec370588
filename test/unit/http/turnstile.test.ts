import assert from 'node:assert/strict';
import { setImmediate as turnOfLoop } from 'node:timers/promises';
import { Turnstile } from '../../../src/http/limits/turnstile.ts';

const staying = new AbortController().signal;

describe('a crowd of submissions', () => {
  it('is let in a few at a time, in order, and everything else has its turn between', async () => {
    const turnstile = new Turnstile();
    let turn = 0;
    const entered: { n: number; turn: number }[] = [];
    const crowd = Promise.all(
      Array.from({ length: 100 }, async (_, n) => {
        await turnstile.enter(staying);
        entered.push({ n, turn });
      }),
    );
    let done = false;
    void crowd.then(() => {
      done = true;
    });
    while (!done) {
      turn++;
      await turnOfLoop();
    }
    assert.deepEqual(
      entered.map(({ n }) => n),
      Array.from({ length: 100 }, (_, n) => n),
    );
    const most = Math.max(
      ...Map.groupBy(entered, (each) => each.turn)
        .values()
        .map((group) => group.length),
    );
    assert.ok(most <= 4, `${most} in one turn`);
  });

  it('leaves out those that left meanwhile', async () => {
    const turnstile = new Turnstile();
    const left = new AbortController();
    const all = Promise.allSettled([
      turnstile.enter(staying),
      turnstile.enter(staying),
      turnstile.enter(left.signal),
      turnstile.enter(staying),
    ]);
    left.abort(new Error('left'));
    const [, , third, fourth] = await all;
    assert.deepEqual([third?.status, fourth?.status], ['rejected', 'fulfilled']);
  });

  it('beyond its bound is refused', async () => {
    const turnstile = new Turnstile();
    const left = new AbortController();
    const all = Array.from({ length: 5003 }, () => turnstile.enter(left.signal));
    await assert.rejects(all.at(-1) ?? assert.fail(), { code: 'overloaded' });
    left.abort(new Error('left'));
    await Promise.allSettled(all);
  });

  it('does not hold up one that comes alone', async () => {
    const turnstile = new Turnstile();
    for (let n = 0; n < 10; n++) {
      let entered = false;
      void turnstile.enter(staying).then(() => {
        entered = true;
      });
      await Promise.resolve();
      assert.equal(entered, true);
      await turnOfLoop();
    }
  });
});
