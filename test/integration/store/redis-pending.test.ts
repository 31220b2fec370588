import assert from 'node:assert/strict';
import { PendingCommands } from '../../../src/store/redis/pending.ts';
import { eventually } from '../../contract/run-store-fixture.ts';

describe('deadlines of commands in flight', () => {
  it('fail what is not settled in time, and tell once', async () => {
    let told = 0;
    using pending = new PendingCommands(() => told++);
    const failed: string[] = [];
    pending.add(10, () => failed.push('a'));
    pending.add(10, () => failed.push('b'));
    pending.add(10, () => failed.push('settled'))();
    pending.add(60_000, () => failed.push('later'));
    await eventually('failures', () => failed.length > 0 || undefined);
    assert.deepEqual(failed, ['a', 'b']);
    assert.equal(told, 1);
  });

  it('do not blame the other side for a pause of this process', async () => {
    let told = 0;
    using pending = new PendingCommands(() => told++);
    const failed: string[] = [];
    const settle = pending.add(600, () => failed.push('a'));
    // Lets the timer start before the process stands still.
    await new Promise((resolve) => setTimeout(resolve, 0));
    const until = performance.now() + 900;
    while (performance.now() < until);
    // Behind the timer that is overdue by now.
    await new Promise((resolve) => setTimeout(resolve, 0));
    settle();
    assert.deepEqual([failed, told], [[], 0]);
  });
});
