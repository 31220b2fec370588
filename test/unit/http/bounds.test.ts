import assert from 'node:assert/strict';
import { setImmediate as turnOfLoop } from 'node:timers/promises';
import { socketLimit, submissionTurns, waitForTurn } from '../../../src/http/limits/bounds.ts';

const staying = new AbortController().signal;

describe('concurrent submissions', () => {
  it('are admitted a few per turn of the event loop, in order', async () => {
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

  it('take turns by API key, so that a few of one key pass a crowd of another', async () => {
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

  it('skip those that left meanwhile', async () => {
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

  it('are refused as overloaded beyond their limit', async () => {
    const turns = submissionTurns();
    const left = new AbortController();
    const all = Array.from({ length: 5003 }, () => waitForTurn(turns, 'a', left.signal));
    await assert.rejects(all.at(-1) ?? assert.fail(), { code: 'overloaded' });
    left.abort(new Error('left'));
    await Promise.allSettled(all);
  });

  it('do not wait if they come alone', async () => {
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
  it('are shared between keys: no key takes all, and closed ones are free again', () => {
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
