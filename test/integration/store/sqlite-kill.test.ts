import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { randomUUID } from 'node:crypto';
import { once } from 'node:events';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { silentLogger } from '../../../src/base/logger.ts';
import { openSqliteStore } from '../../../src/store/sqlite/open.ts';
import { frames, LEASE, readAll } from '../../contract/run-store-fixture.ts';
import { eventually } from '../../support/eventually.ts';
import { patience } from '../../support/time-limit.ts';

const WRITER = join(import.meta.dirname, '../../support/store-writer.ts');

describe('the SQLite store when its process is killed', function () {
  // Servers are started as processes.
  this.timeout(patience(30));
  it('keeps every acknowledged batch whole, and frees folder and run at once, in four rounds', async () => {
    const folder = await mkdtemp(join(tmpdir(), 'sqlite-kill-'));
    const url = `file:${folder}`;
    const id = randomUUID();
    let before = 2;
    for (let round = 0; round < 4; round++) {
      const writer = spawn(process.execPath, [WRITER, url, id], { stdio: ['ignore', 'pipe', 'inherit'] });
      let acknowledged = 0;
      createInterface({ input: writer.stdout }).on('line', (line) => {
        acknowledged = Number(line);
      });
      const enough = before + 150 + 37 * round;
      await eventually('progress', () => acknowledged > enough || undefined);
      assert.throws(() => openSqliteStore(url, { sync: 'normal', log: silentLogger }), /Another process.*redis:\/\//);
      const closed = once(writer, 'close');
      writer.kill('SIGKILL');
      await closed;

      const store = openSqliteStore(url, { sync: 'normal', log: silentLogger });
      const { bytes, last } = await readAll(store, id);
      assert.ok(last >= acknowledged && (last - 2) % 3 === 0, `${last} of ${acknowledged}`);
      assert.deepEqual(bytes, frames(1, last));
      const steps = (await store.readTranscript(id)).map(Number);
      assert.deepEqual(
        steps,
        Array.from({ length: last }, (_, n) => n + 1).filter((n) => n > 4 && (n - 2) % 3 === 0 && n % 2 === 0),
      );
      const claim = await store.claim(id, { ...LEASE, force: false });
      assert.equal(claim?.run.last, last);
      await store.close();
      before = last;
    }
    await rm(folder, { recursive: true });
  });
});
