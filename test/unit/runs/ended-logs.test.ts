import assert from 'node:assert/strict';
import { EndedLogs } from '../../../src/runs/reading/ended-logs.ts';
import type { RunRecord } from '../../../src/runs/runs.ts';
import type { RunStore } from '../../../src/store/run-store.ts';
import { endedRun, frames } from '../../contract/run-store-fixture.ts';
import { memoryStore, wrapStore } from '../../support/wrapped-store.ts';

const KIB = 1024;

describe('EndedLogs', () => {
  let inner: RunStore;
  let reads: { id: string; bytes: number }[];
  let store: RunStore;
  beforeEach(async () => {
    inner = await memoryStore();
    reads = [];
    store = wrapStore(inner, {
      read: async (id, options) => {
        const batches = await inner.read(id, options);
        reads.push({ id, bytes: batches.reduce((sum, batch) => sum + batch.frames.length, 0) });
        return batches;
      },
    });
  });
  afterEach(() => inner.close());

  /** An ended run whose log has about so many bytes. */
  async function runOf(bytes: number): Promise<RunRecord> {
    const { run } = await endedRun(inner, { frames: frames(1, 2, 'x'.repeat(bytes / 2)) });
    return (await inner.get(run.id)) ?? assert.fail();
  }
  const readsOf = ({ id }: RunRecord) => reads.filter((read) => read.id === id).length;

  it('reads each log once, whichever event its readers start after', async () => {
    const logs = new EndedLogs(store);
    const run = await runOf(KIB);
    const [whole, behind] = await Promise.all([logs.after(run, 0), logs.after(run, 2)]);
    assert.deepEqual([whole?.first, whole?.last, whole?.end], [1, 3, true]);
    assert.deepEqual(Buffer.from(behind?.frames ?? []), frames(3, 3));
    await logs.after(run, 1);
    assert.equal(readsOf(run), 1);
  });

  it('stays within its limit by dropping the oldest', async () => {
    const logs = new EndedLogs(store, { maxBytes: 100 * KIB, maxLogBytes: 50 * KIB, maxLongLogs: 10 });
    const runs: RunRecord[] = [];
    for (let n = 0; n < 6; n++) {
      const run = await runOf(30 * KIB);
      runs.push(run);
      await logs.after(run, 0);
    }
    for (const run of runs.slice(-3)) await logs.after(run, 0);
    assert.deepEqual(runs.slice(-3).map(readsOf), [1, 1, 1], 'three fit');
    for (const run of runs.slice(0, 3)) await logs.after(run, 0);
    assert.deepEqual(runs.slice(0, 3).map(readsOf), [2, 2, 2]);
  });

  it('remembers which logs are too long, up to a number, instead of reading them again', async () => {
    const logs = new EndedLogs(store, { maxBytes: 100 * KIB, maxLogBytes: 50 * KIB, maxLongLogs: 2 });
    const runs = [await runOf(60 * KIB), await runOf(60 * KIB), await runOf(60 * KIB)];
    for (const run of runs) assert.equal(await logs.after(run, 0), undefined);
    for (const run of runs.slice(1)) assert.equal(await logs.after(run, 0), undefined);
    assert.deepEqual(runs.map(readsOf), [1, 1, 1], 'they are remembered');
    assert.equal(await logs.after(runs[0] ?? assert.fail(), 0), undefined);
    assert.deepEqual(runs.map(readsOf), [2, 1, 1], 'so many of them');
  });
});
