import assert from 'node:assert/strict';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { silentLogger } from '../../../src/base/logger.ts';
import { runCommandLine } from '../../../src/cli/command-line.ts';
import { readEnvironment } from '../../../src/config/environment.ts';
import type { RunStore } from '../../../src/store/run-store.ts';
import { openSqliteStore } from '../../../src/store/sqlite/open.ts';
import { endedRun } from '../../contract/run-store-fixture.ts';
import { RecordedTerminal } from './recorded-terminal.ts';

describe('the commands about the store', () => {
  let folder: string;
  let store: RunStore;
  beforeEach(async () => {
    folder = await mkdtemp(join(tmpdir(), 'store-commands-'));
    store = openSqliteStore(`file:${folder}`, { sync: 'normal', log: silentLogger });
    await endedRun(store);
    const config = {
      store: { url: `file:${folder}` },
      providers: { demo: { builtin: 'demo' } },
      models: { m: { kind: 'proxy', routes: [{ provider: 'demo', model: 'demo' }] } },
      keys: [{ id: 'k', user: 'u', secret: 'sk-a-secret-of-tests' }],
    };
    await writeFile(join(folder, 'gateway.yaml'), JSON.stringify(config));
  });
  afterEach(async () => {
    await store.close();
    await rm(folder, { recursive: true });
  });

  async function run(...args: string[]) {
    const terminal = new RecordedTerminal();
    const code = await runCommandLine(['store', ...args, '--config', join(folder, 'gateway.yaml')], {
      environment: readEnvironment({}),
      terminal,
      startGateway: () => Promise.reject(new Error('not to be started')),
      projectRoot: folder,
      version: '0',
    });
    return { code, ...terminal.written };
  }

  it('check says that all is in order while a gateway uses it, and copy and restore work', async () => {
    assert.deepEqual(await run('check'), {
      code: 0,
      out: '1 runs, 0 of them open; version 9\nEverything is in order.\n',
      err: '',
    });
    const copy = join(folder, 'copy.db');
    assert.equal((await run('backup', copy)).code, 0);
    const db = new DatabaseSync(copy);
    assert.equal(db.prepare('SELECT count(*) AS n FROM runs').get()?.n, 1);
    db.close();
    const again = await run('backup', copy);
    assert.equal(again.code, 1);
    assert.match(again.err, /EEXIST/);
  });

  it('check names what is damaged and fails', async () => {
    await store.close();
    const db = new DatabaseSync(join(folder, 'runs.db'));
    db.exec('UPDATE batches SET first = first + 1 WHERE first = 3');
    db.close();
    const found = await run('check');
    assert.equal(found.code, 1);
    assert.match(found.err, /^run [0-9a-f-]+: The stored event log is damaged: event 3 is missing/m);
  });
});
