import assert from 'node:assert/strict';
import { once } from 'node:events';
import { rmSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { pathToFileURL } from 'node:url';
import { Worker } from 'node:worker_threads';
import { mountDisk } from '../../support/mounted-disk.ts';

const MIB = 1024 * 1024;

describe('the thread that checkpoints the log', () => {
  it('tries again after the disk was full', async function () {
    await using disk = await mountDisk('16m');
    if (!disk) return this.skip();
    const [path, filler] = [join(disk.path, 'runs.db'), join(disk.path, 'filler')];
    using db = new DatabaseSync(path);
    db.exec('PRAGMA journal_mode = WAL; PRAGMA wal_autocheckpoint = 0; CREATE TABLE t (x)');
    db.prepare('INSERT INTO t VALUES (zeroblob(?))').run(6 * MIB);
    writeFileSync(filler, Buffer.alloc(8 * MIB));
    const workerData = { url: `${pathToFileURL(path).href}?mode=rw` };
    const thread = new Worker(new URL('../../../src/store/sqlite/files/checkpoint-thread.ts', import.meta.url), {
      workerData,
    });
    const checkpoint = async () => {
      thread.postMessage('checkpoint');
      await once(thread, 'message');
      return statSync(path).size;
    };
    assert.ok((await checkpoint()) < 6 * MIB);
    rmSync(filler);
    assert.ok((await checkpoint()) > 6 * MIB);
    await thread.terminate();
  });
});
