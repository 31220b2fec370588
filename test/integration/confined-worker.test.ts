import assert from 'node:assert/strict';
import { ConfinedWorker } from '../../src/base/confined/confined-worker.ts';

const LIMITS = { timeMs: 60_000, memoryBytes: 1e9 };
const { signal } = new AbortController();
const start = (entry: string) =>
  new ConfinedWorker(new URL(entry, import.meta.url), {
    packages: ['zod'],
    heapMb: 64,
    read: (message) => (typeof message === 'string' ? message : undefined),
  });
const checker = () => start('../../src/research/answer/schema/schema-child.ts');

describe('a ConfinedWorker', () => {
  it('that cannot start fails every job as not_started', async () => {
    using worker = start('./there-is-none.ts');
    for (let job = 0; job < 2; job++) {
      await assert.rejects(worker.run({}, { limits: LIMITS, signal }), { kind: 'not_started' });
    }
    assert.equal(worker.alive, false);
  });

  it('is ended if it sends an invalid answer', async () => {
    using worker = checker();
    await assert.rejects(worker.run({ schema: {} }, { limits: LIMITS, signal }), { kind: 'crashed' });
    assert.equal(worker.alive, false);
  });

  it('is ended after its time, however often it says that it has begun', async () => {
    using worker = start('../support/begins-only.ts');
    await assert.rejects(worker.run({}, { limits: { ...LIMITS, timeMs: 200 }, signal }), { kind: 'time' });
  });

  it('runs no jobs after it is disposed of', async () => {
    using worker = checker();
    worker[Symbol.dispose]();
    await assert.rejects(worker.run({ schema: {} }, { limits: LIMITS, signal }), { kind: 'not_started' });
  });
});
