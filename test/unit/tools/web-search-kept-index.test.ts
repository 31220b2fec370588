import assert from 'node:assert/strict';
import { mkdtemp, readdir, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { Compounds } from '../../../src/tools/web-search/local/compounds.ts';
import { FolderIndex } from '../../../src/tools/web-search/local/folder-index.ts';
import { openIndexDatabase } from '../../../src/tools/web-search/local/index-database.ts';
import { IndexWriter } from '../../../src/tools/web-search/local/index-writer.ts';
import { Stems } from '../../../src/tools/web-search/local/languages.ts';
import { createLocalSearch } from '../../../src/tools/web-search/local/local-search.ts';
import { eventually } from '../../support/eventually.ts';

const NOTHING = { allowedDomains: [], blockedDomains: [] };

describe('a persistent index', () => {
  let folder: string;
  let indexFolder: string;

  beforeEach(async () => {
    folder = await mkdtemp(join(tmpdir(), 'corpus-'));
    indexFolder = await mkdtemp(join(tmpdir(), 'index-'));
    await writeFile(join(folder, 'pumps.md'), '# Heat pumps\n\nThey move warmth.');
    await writeFile(join(folder, 'bells.md'), '# Bells\n\nThey ring.');
  });
  afterEach(async () => {
    await rm(folder, { recursive: true });
    await rm(indexFolder, { recursive: true });
  });

  const troubles: string[] = [];
  const open = () =>
    new FolderIndex({ folder, indexFile: join(indexFolder, 'i.db'), onTrouble: (text) => troubles.push(text) });
  const titles = async (index: FolderIndex, query: string) =>
    (await index.search(query, 5)).hits.map((hit) => hit.title);

  it('survives a restart: only changed files are read again', async () => {
    {
      using first = open();
      assert.deepEqual(await titles(first, 'warmth'), ['Heat pumps']);
      assert.deepEqual(await titles(first, 'ring'), ['Bells']);
    }
    {
      using db = new DatabaseSync(join(indexFolder, 'i.db'));
      db.exec("UPDATE documents SET title = title || ' as it was'");
    }
    await writeFile(join(folder, 'bells.md'), '# Bells\n\nThey ring out.');
    using second = open();
    assert.deepEqual(await titles(second, 'warmth'), ['Heat pumps as it was']);
    assert.deepEqual(await titles(second, 'ring'), ['Bells']);
    assert.deepEqual(troubles, []);
  });

  it('says that its disk is full, although SQLite then rolls back by itself', () => {
    using db = openIndexDatabase(join(indexFolder, 'full.db'), { owner: true });
    const stems = new Stems();
    const writer = new IndexWriter(db, { owner: true, stems, compounds: new Compounds(stems), sliceMs: 10 });
    const full = () => {
      db.exec('ROLLBACK');
      throw new Error('database or disk is full');
    };
    assert.throws(() => writer.inTransaction(full), /disk is full/);
  });

  it('is shared: one process follows the files, and another takes over when it is gone', async () => {
    const first = open();
    assert.deepEqual(await titles(first, 'warmth'), ['Heat pumps']);
    using second = open();
    assert.deepEqual(await titles(second, 'warmth'), ['Heat pumps']);
    await writeFile(join(folder, 'late.md'), '# Late\n\nA zeppelin.');
    assert.deepEqual(await titles(second, 'zeppelin'), [], 'it only reads');
    first[Symbol.dispose]();
    await eventually('the other index', async () => (await titles(second, 'zeppelin')).length > 0);
    assert.deepEqual(troubles, []);
  });

  it('is rebuilt if its file is damaged or of another version', async () => {
    for (const damage of ['garbage '.repeat(2000), 'PRAGMA user_version = 99']) {
      {
        using first = open();
        assert.deepEqual(await titles(first, 'warmth'), ['Heat pumps']);
      }
      if (damage.startsWith('PRAGMA')) {
        using db = new DatabaseSync(join(indexFolder, 'i.db'));
        db.exec(damage);
      } else {
        await rm(join(indexFolder, 'i.db-wal'), { force: true });
        await writeFile(join(indexFolder, 'i.db'), damage);
      }
      using second = open();
      assert.deepEqual(await titles(second, 'warmth'), ['Heat pumps']);
    }
    assert.deepEqual(troubles, []);
  });

  it('stays in memory if its file cannot be used, and says so', async () => {
    await writeFile(join(indexFolder, 'file'), '');
    using index = new FolderIndex({
      folder,
      indexFile: join(indexFolder, 'file', 'i.db'),
      onTrouble: (text) => troubles.push(text),
    });
    assert.deepEqual(await titles(index, 'warmth'), ['Heat pumps']);
    assert.match(troubles.join(), /kept in memory/);
    troubles.length = 0;
  });

  it('has one database file per folder', async () => {
    using search = createLocalSearch({ folder, indexFolder: join(indexFolder, 'search') });
    const { hits } = await search.search(
      { text: 'warmth', limit: 5, filters: NOTHING },
      { signal: new AbortController().signal },
    );
    assert.equal(hits.length, 1);
    assert.equal((await readdir(join(indexFolder, 'search'))).filter((name) => name.endsWith('.db')).length, 1);
  });
});
