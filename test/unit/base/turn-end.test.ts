import assert from 'node:assert/strict';
import { TurnEnd } from '../../../src/base/turn-end.ts';

describe('the end of a turn of the event loop', () => {
  function setUp() {
    const scheduled: (() => void)[] = [];
    const done: number[] = [];
    const failures: unknown[] = [];
    const turnEnd = new TurnEnd({
      schedule: (run) => void scheduled.push(run),
      failed: (thrown) => void failures.push(thrown),
    });
    /** A turn in which pieces of work come; how many of them waited. */
    const turn = (...pieces: number[]) => {
      const waited = pieces.filter((n) => turnEnd.join(() => void done.push(n)));
      assert.ok(scheduled.length <= 1, 'one end a turn');
      scheduled.shift()?.();
      return waited.length;
    };
    return { turn, done, turnEnd, scheduled, failures };
  }

  it('does what came in the turn together, in order', () => {
    const { turn, done } = setUp();
    assert.equal(turn(1, 2, 3), 3);
    assert.deepEqual(done, [1, 2, 3]);
  });

  it('is not waited for where nothing else ever comes in a turn, until something does', () => {
    const { turn } = setUp();
    const alone = Array.from({ length: 100 }, (_, n) => turn(n));
    const waited = alone.filter((count) => count === 1).length;
    assert.ok(waited < 20, `${waited} of 100 waited`);
    let turns = 0;
    while (turn(1, 2, 3) < 3) assert.ok(++turns < 10, 'never waits again');
    assert.equal(turn(1, 2), 2);
  });

  it('does the rest where one piece fails', () => {
    const { turnEnd, done, scheduled, failures } = setUp();
    const broken = new Error('broken');
    turnEnd.join(() => {
      throw broken;
    });
    turnEnd.join(() => void done.push(2));
    scheduled.shift()?.();
    assert.deepEqual([done, failures], [[2], [broken]]);
  });
});
