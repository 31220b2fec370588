import assert from 'node:assert/strict';
import { setImmediate as turnOfLoop } from 'node:timers/promises';
import { socketLimit, submissionTurns, waitForTurn } from '../../../src/http/limits/bounds.ts';

const staying = new AbortController().signal;

describe('a crowd of submissions', () => {
  it('is let in a few at a time, in order, and everything else has its turn between', async () => {
    const turns = submissionTurns();
    let turn = 0;
    const entered: { n: number; turn: number }[] = [];
    const crowd = Promise.all(
      Array.from({ length: 100 }, async (_, n) => {
        await waitForTurn(turns, 'a', staying);
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

  it('takes turns by API key, and lets each in that has none waiting', async () => {
    const turns = submissionTurns();
    const order: string[] = [];
    const refused: string[] = [];
    const enter = (key: string) =>
      waitForTurn(turns, key, staying).then(
        () => void order.push(key),
        () => void refused.push(key),
      );
    const crowd = Array.from({ length: 5100 }, () => enter('many'));
    await Promise.all([enter('few'), enter('few'), enter('other')]);
    assert.ok(order.length <= 10, `${order.length} before them`);
    assert.deepEqual([...new Set(refused)], ['many']);
    await Promise.all(crowd);
  });

  it('leaves out those that left meanwhile', async () => {
    const turns = submissionTurns();
    const left = new AbortController();
    const all = Promise.allSettled([
      waitForTurn(turns, 'a', staying),
      waitForTurn(turns, 'a', staying),
      waitForTurn(turns, 'a', left.signal),
      waitForTurn(turns, 'a', staying),
    ]);
    left.abort(new Error('left'));
    const [, , third, fourth] = await all;
    assert.deepEqual([third?.status, fourth?.status], ['rejected', 'fulfilled']);
  });

  it('beyond its bound is refused', async () => {
    const turns = submissionTurns();
    const left = new AbortController();
    const all = Array.from({ length: 5003 }, () => waitForTurn(turns, 'a', left.signal));
    await assert.rejects(all.at(-1) ?? assert.fail(), { code: 'overloaded' });
    left.abort(new Error('left'));
    await Promise.allSettled(all);
  });

  it('does not hold up one that comes alone', async () => {
    const turns = submissionTurns();
    for (let n = 0; n < 10; n++) {
      let turned = false;
      setImmediate(() => {
        turned = true;
      });
      await waitForTurn(turns, 'a', staying);
      assert.equal(turned, false);
      await turnOfLoop();
    }
  });
});

describe('open WebSockets', () => {
  it('are shared by keys: none takes all, and what closes is free again', () => {
    const sockets = socketLimit(8);
    const open = (key: string, count: number) => Array.from({ length: count }, () => sockets.take(key));
    const first = open('a', 4);
    assert.throws(() => sockets.take('a'), { code: 'overloaded' });
    open('b', 2);
    assert.throws(() => sockets.take('b'), { code: 'overloaded' });
    sockets.take('c');
    for (const each of first) {
      each[Symbol.dispose]();
      each[Symbol.dispose]();
    }
    open('b', 1);
    assert.throws(() => open('b', 2), { code: 'overloaded' });
  });
});
