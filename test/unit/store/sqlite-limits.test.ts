import assert from 'node:assert/strict';
import { cp, mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { silentLogger } from '../../../src/base/logger.ts';
import type { LimitRequest } from '../../../src/store/limit-store.ts';
import { openSqliteStore } from '../../../src/store/sqlite/open.ts';
import { newRun } from '../../contract/run-store-fixture.ts';

const DAY = { name: 'tokens', windowSeconds: 86_400 };
const HOLDS: readonly LimitRequest[] = [
  { kind: 'place', name: 'runs', limit: 9, ttlMs: 3_600_000 },
  { kind: 'budget', ...DAY, points: 1000, limit: 100_000, ttlMs: 3_600_000 },
];

async function folders() {
  const root = await mkdtemp(join(tmpdir(), 'sqlite-limits-'));
  const [live, crashed] = [join(root, 'live'), join(root, 'crashed')];
  return {
    open: (clock = { now: Date.now }) => openSqliteStore(`file:${live}`, { sync: 'normal', log: silentLogger, clock }),
    /** The store as it is on disk now, as after a crash. */
    async crash() {
      await rm(crashed, { recursive: true, force: true });
      await cp(live, crashed, { recursive: true });
      return openSqliteStore(`file:${crashed}`, { sync: 'normal', log: silentLogger });
    },
    [Symbol.asyncDispose]: () => rm(root, { recursive: true, force: true }),
  };
}

describe('limits in SQLite', () => {
  it('restore after a crash what open runs hold, and count what ended ones used', async () => {
    await using stores = await folders();
    const store = stores.open();
    const { limits } = store;
    const open = newRun();
    const take = (id: string) => limits.take({ key: 'ann', id, lasting: true }, HOLDS);
    const note = (id: string, spent: number) =>
      limits.note([{ ...DAY, holder: { key: 'ann', id, lasting: true }, spent, ttlMs: 3_600_000 }]);
    await take(open.id);
    await store.create(open);
    await note(open.id, 30);
    await take('ended before its limits were settled');
    await note('ended before its limits were settled', 70);
    await take('never stored');
    // Limits of runs are written with the next write of the store, whatever it is.
    assert.equal((await store.check()).ok, true);

    await using again = { store: await stores.crash(), [Symbol.asyncDispose]: () => again.store.close() };
    const { limits: restored } = again.store;
    assert.deepEqual(await restored.slots({ name: 'runs' }).holders('ann'), [open.id]);
    const budget = restored.budget(DAY);
    assert.equal((await budget.used('ann')).used, 1070);
    await budget.settle('ann', open.id, { points: 1000 });
    assert.equal((await budget.used('ann')).used, 100, 'what it was noted to have used');
    await store.close();
  });

  it('keep the usage and the end of a day over a restart, and forget a minute that is over', async () => {
    await using stores = await folders();
    const clock = { at: 1_800_000_000_000, now: () => clock.at };
    const store = stores.open(clock);
    const minute = { name: 'minute', windowSeconds: 60 };
    for (const window of [DAY, minute]) {
      await store.limits.take({ key: 'ann', id: 'call' }, [
        { kind: 'budget', ...window, points: 10, limit: 100, ttlMs: 60_000 },
      ]);
      await store.limits.release({ key: 'ann', id: 'call' }, [{ kind: 'budget', ...window, points: 10, spent: 8 }]);
    }
    await store.close();
    clock.at += 61_000;
    const again = stores.open(clock);
    const day = await again.limits.budget(DAY).used('ann');
    assert.equal(day.used, 8);
    assert.equal(day.resetMs, DAY.windowSeconds * 1000 - 61_000);
    assert.equal((await again.limits.budget(minute).used('ann')).used, 0);
    await again.close();
  });
});
