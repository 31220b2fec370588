import assert from 'node:assert/strict';
import { mock } from 'node:test';
import { heartbeat } from '../../../src/http/answers/heartbeat.ts';
import { eventually } from '../../support/eventually.ts';

const pause = (ms: number) => new Promise((resolve) => setTimeout(resolve, ms));

describe('heartbeat', () => {
  afterEach(() => mock.timers.reset());

  it('beats after each interval of silence, never earlier', () => {
    mock.timers.enable({ apis: ['setInterval'] });
    let beats = 0;
    using _ = heartbeat(20, () => beats++);
    for (const [passed, beaten] of [
      [19, 0],
      [1, 1],
      [19, 1],
      [1, 2],
      [20, 3],
    ] as const) {
      mock.timers.tick(passed);
      assert.equal(beats, beaten);
    }
  });

  it('starts the silence again on restart()', async () => {
    // Timers of equal length fire in the order in which they were started, however late.
    let isOver = false;
    let silence: NodeJS.Timeout | undefined;
    const early: boolean[] = [];
    using pulse = heartbeat(50, () => early.push(!isOver));
    for (let n = 0; n < 15; n++) {
      await pause(5);
      clearTimeout(silence);
      isOver = false;
      silence = setTimeout(() => {
        isOver = true;
      }, 50);
      pulse.restart();
    }
    await eventually('the condition', () => isOver && early.length > 0);
    assert.ok(!early.includes(true));
  });

  it('stops when disposed, and leaves no timer behind', async () => {
    const timers = () => process.getActiveResourcesInfo().filter((name) => name === 'Timeout').length;
    await pause(1);
    const before = timers();
    let [first, second] = [0, 0];
    const one = heartbeat(5, () => first++);
    const other = heartbeat(5, () => second++);
    await eventually('the condition', () => first > 0 && second > 0);
    one[Symbol.dispose]();
    const stopped = first;
    const at = second;
    await eventually('the condition', () => second > at + 2);
    assert.equal(first, stopped);
    other[Symbol.dispose]();
    const quiet = second;
    await pause(0);
    await eventually('the condition', () => timers() <= before);
    assert.equal(second, quiet);
  });
});
