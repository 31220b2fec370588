import assert from 'node:assert/strict';
import { composeLimitStore } from '../../../src/store/compose-limit-store.ts';
import { Holds } from '../../../src/store/holds.ts';
import type { LimitBudget, LimitRequest } from '../../../src/store/limit-store.ts';
import { MemoryCounter, MemorySlots } from '../../../src/store/memory-limits.ts';

describe('limits taken together', () => {
  const now = () => 0;
  const holder = { key: 'k', id: 'a' };
  const requests: LimitRequest[] = [
    { kind: 'place', name: 'runs', limit: 1, ttlMs: 1000 },
    { kind: 'points', name: 'requests', windowSeconds: 60, points: 1, limit: 10 },
    { kind: 'budget', name: 'tokens', windowSeconds: 60, points: 5, limit: 10, ttlMs: 1000 },
  ];
  const storeWith = (failing: () => never | Promise<never>) => {
    const slots = new MemorySlots(new Holds(now));
    const counter = new MemoryCounter(60, now);
    const budget: LimitBudget = {
      reserve: failing,
      note() {},
      settle() {},
      used: () => ({ used: 0, resetMs: 0 }),
      holders: () => [],
    };
    return {
      slots,
      counter,
      store: composeLimitStore({ counter: () => counter, slots: () => slots, budget: () => budget }),
    };
  };
  const gone = () => {
    throw new Error('gone');
  };

  for (const [when, failing] of [
    ['synchronously', gone],
    ['asynchronously', async () => gone()],
  ] as const) {
    it(`are all released if one of them fails ${when}`, async () => {
      const { slots, counter, store } = storeWith(failing);
      await assert.rejects(async () => await store.take(holder, requests), { message: 'gone' });
      assert.equal(slots.count('k'), 0);
      assert.equal(counter.take('k', 0, { limit: 0, force: true }).used, 0);
    });
  }
});

describe('notes of several budgets', () => {
  it('are all under way at once: what follows them, such as the end of a run, finds them sent', () => {
    const noted: string[] = [];
    const budget = ({ name }: { name: string }): LimitBudget => ({
      reserve: () => assert.fail(),
      note: () => {
        noted.push(name);
        return new Promise(() => {});
      },
      settle() {},
      used: () => ({ used: 0, resetMs: 0 }),
      holders: () => [],
    });
    const now = () => 0;
    const store = composeLimitStore({
      counter: () => new MemoryCounter(60, now),
      slots: () => new MemorySlots(new Holds(now)),
      budget,
    });
    const note = { holder: { key: 'k', id: 'a' }, spent: 1, ttlMs: 1000, windowSeconds: 60 };
    void store.note([
      { ...note, name: 'tokens' },
      { ...note, name: 'costs' },
    ]);
    assert.deepEqual(noted, ['tokens', 'costs']);
  });
});
