import assert from 'node:assert/strict';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setImmediate as turnOfLoop } from 'node:timers/promises';
import { silentLogger } from '../../../src/base/logger.ts';
import { claimedRun, ending, events, frames } from '../../contract/run-store-fixture.ts';
import { collectGarbage } from '../../support/collect-garbage.ts';
import { logReader } from '../../support/log-reader.ts';
import { openStore, wrapStore } from '../../support/wrapped-store.ts';

describe('a reader slower than its run', () => {
  it('reads from the store again: it holds little memory and misses nothing', async () => {
    const folder = await mkdtemp(join(tmpdir(), 'slow-reader-'));
    const store = await openStore(
      { url: `file:${folder}`, retentionMs: 3_600_000, sync: 'normal' },
      { log: silentLogger },
    );
    try {
      const reads: number[] = [];
      const counting = wrapStore(store, {
        read: async (id, options) => {
          reads.push(options.after);
          return await store.read(id, options);
        },
      });
      const text = 'x'.repeat(50_000);
      const { run, token } = await claimedRun(store);
      const readers = Array.from({ length: 4 }, () => logReader(counting, run.id));
      for (const slow of readers) assert.equal((await slow.next())?.last, 2);
      // Each reader asks for one batch more, so that it is live, and then for nothing.
      const second = readers.map((slow) => slow.next());
      await turnOfLoop();
      await store.append(run.id, events(token, 3, 3, { frames: frames(3, 3, text) }));
      await Promise.all(second);
      reads.length = 0;

      const before = heldBytes();
      let appended = 0;
      for (let n = 4; n < 600; n++) {
        const bytes = frames(n, n, text);
        appended += bytes.length;
        await store.append(run.id, events(token, n, n, { frames: bytes }));
      }
      await store.append(run.id, ending(token, 600, 'completed', { frames: frames(600, 600, text) }));
      assert.ok(appended > 25_000_000);
      let held = heldBytes() - before;
      // Buffers are freed in the background, some time after the collection that found them unused.
      for (let looks = 1; held >= 8_000_000 && looks < 2000; looks++) {
        await turnOfLoop();
        // Collecting takes long in a process that has run many tests.
        held = (looks % 200 === 0 ? heldBytes() : process.memoryUsage().arrayBuffers) - before;
      }
      assert.ok(held < 8_000_000, `four slow readers hold ${held} bytes of ${appended}`);

      for (const slow of readers) assert.ok((await slow.rest()).equals(frames(4, 600, text)));
      assert.ok(reads.length > 4 && reads.every((after) => after >= 3), 'what they missed was read from the store');
    } finally {
      await store.close();
      await rm(folder, { recursive: true });
    }
  });
});

/** Bytes of buffers that are still referenced. */
function heldBytes(): number {
  collectGarbage();
  return process.memoryUsage().arrayBuffers;
}
