import assert from 'node:assert/strict';
import { inSlices, runInTurn, yieldToEventLoop } from '../../../src/base/load/event-loop.ts';

/** Longer than all tasks together may take in one turn of the event loop, in milliseconds. */
const LONG_MS = 6;

function work(ms: number): void {
  const until = performance.now() + ms;
  while (performance.now() < until);
}

/** The most pieces that run in one turn of the event loop until `all` tasks are done. */
async function mostInATurn(all: (piece: (ms?: number) => void) => Promise<unknown>[]): Promise<number> {
  // What other tests have done in this turn does not count.
  await yieldToEventLoop();
  await yieldToEventLoop();
  let [inTurn, most, isOver] = [0, 0, false];
  const tasks = all((ms = LONG_MS) => {
    work(ms);
    most = Math.max(most, ++inTurn);
  });
  const over = Promise.all(tasks).then(() => (isOver = true));
  while (!isOver) {
    inTurn = 0;
    await yieldToEventLoop();
  }
  await over;
  return most;
}

describe('long tasks started at the same time', () => {
  it('take turns if run in slices, with at most two slices per turn of the event loop', async () => {
    const order: number[] = [];
    const most = await mostInATurn((piece) =>
      [0, 1, 2, 3, 4].map((name) =>
        inSlices(
          [1, 2, 3],
          () => {
            order.push(name);
            piece();
          },
          { stepsPerClockRead: 1 },
        ),
      ),
    );
    // One may end at the beginning of a turn in which the next one begins.
    assert.ok(most <= 2, `${most} in one turn`);
    assert.deepEqual(new Set(order.slice(0, 6)), new Set([0, 1, 2, 3, 4]), 'nobody waits until another is through');
    const single = await mostInATurn((piece) =>
      Array.from({ length: 8 }, () => inSlices([1], () => piece(), { stepsPerClockRead: 1 })),
    );
    assert.ok(single <= 2, `${single} tasks of one slice in one turn`);
  });

  it('share a turn if they are short', async () => {
    const most = await mostInATurn((piece) => [LONG_MS, 0, 0, 0, 0].map((ms) => runInTurn(() => piece(ms))));
    assert.ok(most > 1, `${most} in one turn`);
  });

  it('run at most two per turn if in one piece, and pass errors to the caller', async () => {
    const most = await mostInATurn((piece) => Array.from({ length: 8 }, () => runInTurn(() => piece())));
    assert.ok(most <= 2, `${most} in one turn`);
    await assert.rejects(
      runInTurn(() => {
        throw new Error('no');
      }),
      /no/,
    );
  });
});
