import assert from 'node:assert/strict';
import { mkdtemp, readdir, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { compileFilter, filterSchema } from '../../../src/vector-stores/filters.ts';
import { CollectionIndex } from '../../../src/vector-stores/index/collection-index.ts';

const fileOf = (path: string, text: string, attributes = {}) => ({
  path,
  signature: `${path} 1`,
  name: `${path}.md`,
  title: path,
  text,
  attributes,
});

describe('CollectionIndex', () => {
  let folder: string;
  let path: string;
  beforeEach(async () => {
    folder = await mkdtemp(join(tmpdir(), 'collection-'));
    path = join(folder, 'vs.db');
  });
  afterEach(() => rm(folder, { recursive: true }));

  const bytes = async () => {
    const files = await Promise.all((await readdir(folder)).map((name) => readFile(join(folder, name), 'latin1')));
    return files.join('');
  };

  it('returns the page or heading of a hit, and survives a restart', async () => {
    {
      using index = new CollectionIndex(path, { owner: true });
      const body = '[Page 1]\n\nOf cranes.\n\n[Page 2]\n\nThe deposit is 500 crowns.';
      await index.put(fileOf('pdf', body));
      await index.put(
        fileOf('doc', '# Rules\n\n## Money\n\nThe rent is 700 crowns, and is paid each month in advance.'),
      );
      index.note(7);
    }
    using index = new CollectionIndex(path, { owner: true });
    const files = index.state();
    assert.deepEqual([[...files.keys()].toSorted(), index.progress()], [['doc', 'pdf'], { documents: 2, revision: 7 }]);
    const [deposit] = await index.search(['deposit'], { limit: 1, filter: undefined });
    assert.deepEqual([deposit?.path, deposit?.page, deposit?.section], ['pdf', 2, undefined]);
    const [rent] = await index.search(['rent'], { limit: 1, filter: undefined });
    assert.deepEqual([rent?.path, rent?.page, rent?.section], ['doc', undefined, 'Rules › Money']);
  });

  it('scores by how much of the query a passage contains, even with a single document', async () => {
    using index = new CollectionIndex(path, { owner: true });
    await index.put(fileOf('a', 'Apples are red in autumn.'));
    const score = async (query: string) =>
      (await index.search([query], { limit: 1, filter: undefined }))[0]?.score ?? 0;
    const [whole, half] = [await score('red apples'), await score('blue apples')];
    assert.ok(whole >= 0.5 && whole < 1 && half < whole && half > 0.1, `${whole} ${half}`);
  });

  it('leaves nothing of a removed file behind, not even on disk', async () => {
    using index = new CollectionIndex(path, { owner: true });
    await index.put(
      fileOf('a', 'The word is swordfishcanary, in a text of its own.', { secretcanary: 'attributecanary' }),
    );
    await index.put(fileOf('b', 'Another text stays here.'));
    assert.match(await bytes(), /swordfishcanary/);
    await index.remove(['a']);
    await index.wipe();
    assert.ok(!/swordfishcan|attributecanary/.test(await bytes()));
    assert.deepEqual(await index.search(['swordfishcanary'], { limit: 5, filter: undefined }), []);
    assert.equal((await index.search(['another text'], { limit: 5, filter: undefined })).length, 1);
    index.drop();
    assert.deepEqual(await readdir(folder), []);
  });

  it('filters by attributes before it ranks', async () => {
    using index = new CollectionIndex(path, { owner: true });
    for (let n = 0; n < 200; n++)
      await index.put(fileOf(`f${n}`, `lake lake lake report ${n}`, { year: 2000 + n, last: n === 199 }));
    const found = await index.search(['lake report'], { limit: 10, filter: { type: 'eq', key: 'last', value: true } });
    assert.deepEqual(
      found.map((hit) => hit.path),
      ['f199'],
    );
    index.setAttributes('f3', { attributes: { last: true }, signature: 'f3 2' });
    const both = await index.search(['lake report'], { limit: 10, filter: { type: 'eq', key: 'last', value: true } });
    assert.deepEqual(both.map((hit) => hit.path).toSorted(), ['f199', 'f3']);
    assert.equal(index.state().get('f3'), 'f3 2');
    assert.deepEqual(await index.search(['lake'], { limit: 10, filter: { type: 'eq', key: 'no', value: 1 } }), []);
  });

  it('shows readers every write at once, and cannot be wiped while a transaction reads it', async () => {
    using writer = new CollectionIndex(path, { owner: true });
    using reader = new CollectionIndex(path, { owner: false });
    const found = async (year: number) => {
      const of = { limit: 5, filter: { type: 'eq', key: 'year', value: year } as const };
      return (await reader.search(['lake'], of)).map((hit) => hit.path).toSorted();
    };
    await writer.put(fileOf('a', 'The lake is deep.', { year: 1 }));
    assert.deepEqual(await found(1), ['a']);
    await writer.put(fileOf('b', 'The lake is cold.', { year: 1 }));
    assert.deepEqual(await found(1), ['a', 'b']);
    writer.setAttributes('a', { attributes: { year: 2 }, signature: 'a 2' });
    assert.deepEqual([await found(1), await found(2)], [['b'], ['a']]);
    await writer.remove(['b']);
    assert.deepEqual(await found(1), []);
    // A long read keeps removed text on disk, so the wipe fails.
    using other = new DatabaseSync(path);
    other.exec('BEGIN; SELECT * FROM documents');
    await assert.rejects(writer.wipe(), /being read/);
    other.exec('COMMIT');
    await writer.wipe();
    assert.ok(!/lake is cold/.test(await bytes()));
  });

  it('accepts any query without failing', async () => {
    using index = new CollectionIndex(path, { owner: true });
    await index.put(fileOf('a', 'Some text.'));
    for (const query of ['', '"', 'a"b OR *', '😀', '\u0000', 'NEAR(', '-'.repeat(2000), 'ا ب']) {
      await index.search([query, query], { limit: 3, filter: undefined });
    }
  });
});

describe('an attribute filter', () => {
  it('has a limited depth, and compares only values of the same type', async () => {
    const deep = (depth: number): object =>
      depth === 0 ? { type: 'eq', key: 'a', value: 1 } : { type: 'and', filters: [deep(depth - 1)] };
    assert.ok(filterSchema.safeParse(deep(8)).success);
    assert.ok(!filterSchema.safeParse(deep(9)).success);
    assert.ok(!filterSchema.safeParse(deep(500)).success);
    const test = (one: object, attributes: Record<string, string | number | boolean>) =>
      compileFilter(filterSchema.parse(one))(attributes);
    assert.ok(test({ type: 'gt', key: 'a', value: 'b' }, { a: 'c' }));
    assert.ok(!test({ type: 'gt', key: 'a', value: 1 }, { a: '2' }));
    assert.ok(test({ type: 'ne', key: 'a', value: 1 }, {}));
    assert.ok(test({ type: 'nin', key: 'a', value: [1] }, {}));
    assert.ok(!test({ type: 'in', key: 'a', value: [1] }, { a: '1' }));
    assert.ok(test({ type: 'and', filters: [] }, {}));
    assert.ok(!test({ type: 'or', filters: [] }, {}));
    assert.ok(!test({ type: 'eq', key: 'constructor', value: 'x' }, {}));
  });
});
