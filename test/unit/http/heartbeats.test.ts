import assert from 'node:assert/strict';
import { heartbeat } from '../../../src/http/answers/heartbeat.ts';

const pause = (ms: number) => new Promise((resolve) => setTimeout(resolve, ms));

/** Timers count whole milliseconds. */
const ROUNDING_MS = 1;

/** Waits until a condition holds. */
async function until(condition: () => boolean): Promise<void> {
  const limit = performance.now() + 60_000;
  while (!condition()) {
    assert.ok(performance.now() < limit, 'waited too long');
    await pause(1);
  }
}

describe('heartbeat', () => {
  it('beats after each interval of silence, never earlier', async () => {
    const began = performance.now();
    const beats: number[] = [];
    using _ = heartbeat(20, () => beats.push(performance.now() - began));
    await until(() => beats.length === 3);
    for (const [index, at] of beats.entries())
      assert.ok(at >= 20 * (index + 1) - ROUNDING_MS, `beat ${index} at ${at} ms`);
  });

  it('a touch starts the silence again', async () => {
    let touched = performance.now();
    let beats = 0;
    using pulse = heartbeat(50, () => {
      assert.ok(performance.now() - touched >= 50 - ROUNDING_MS);
      beats++;
    });
    for (let n = 0; n < 15; n++) {
      await pause(5);
      touched = performance.now();
      pulse.touch();
    }
    await until(() => beats > 0);
  });

  it('one that is disposed beats no more, and no timer is left behind', async () => {
    const timers = () => process.getActiveResourcesInfo().filter((name) => name === 'Timeout').length;
    await pause(1);
    const before = timers();
    let [first, second] = [0, 0];
    const one = heartbeat(5, () => first++);
    const other = heartbeat(5, () => second++);
    await until(() => first > 0 && second > 0);
    one[Symbol.dispose]();
    const stopped = first;
    const at = second;
    await until(() => second > at + 2);
    assert.equal(first, stopped);
    other[Symbol.dispose]();
    const quiet = second;
    await pause(0);
    await until(() => timers() <= before);
    assert.equal(second, quiet);
  });
});
