import assert from 'node:assert/strict';
import { silentLogger } from '../../../src/base/logger.ts';
import { StoreIndexes } from '../../../src/vector-stores/index/store-indexes.ts';
import { until } from '../../support/http-gateway.ts';
import { patience } from '../../support/time-limit.ts';

const STORE = `vs_${'0'.repeat(32)}`;
const fileOf = (path: string, text: string, attributes = {}) => ({
  path,
  signature: `${path} 1`,
  name: `${path}.md`,
  title: path,
  text,
  attributes,
});
/** Vectors that point the same way for words of the same meaning. */
const vectorOf = (text: string) =>
  Float32Array.from([/surgeon|physician/i.test(text) ? 1 : 0.01, /baker|loaf/i.test(text) ? 1 : 0.01, 0.02]);

describe('StoreIndexes', () => {
  it('searches by meaning once passages have vectors, and applies the filter', async () => {
    let model: string | undefined;
    const purposes = new Set<string>();
    const embeddings = () =>
      model === undefined
        ? undefined
        : {
            model,
            embed: async (texts: readonly string[]) => texts.map(vectorOf),
            mayBeRefusal: () => false,
            observe: (purpose: string, outcome: string) => void purposes.add(`${purpose} ${outcome}`),
          };
    using indexes = new StoreIndexes({ folder: undefined, embeddings, log: silentLogger });
    assert.ok(indexes.acquireOwnership());
    const search = async (filter?: { type: 'eq'; key: string; value: number }) => {
      const question = { store: STORE, queries: ['physician'], limit: 3, filter };
      return (await indexes.search(question, AbortSignal.timeout(patience(5)))).map(({ path, page }) => [path, page]);
    };
    const put = (file: ReturnType<typeof fileOf>) => indexes.change({ ask: 'put', store: STORE, file });
    await put(fileOf('medicine', '[Page 4]\n\nThe surgeon works at night.', { year: 1 }));
    await put(fileOf('food', 'The baker sells what she made.', { year: 2 }));
    assert.deepEqual(await search(), []);
    // Embeddings are configured later: documents that are already indexed get vectors.
    model = 'meaning';
    await until(async () => ((await search()).length > 0 ? true : undefined));
    assert.deepEqual(await search(), [['medicine', 4]]);
    assert.deepEqual(await search({ type: 'eq', key: 'year', value: 2 }), []);
    assert.deepEqual([...purposes].toSorted(), ['documents ok', 'query ok']);
    await indexes.change({ ask: 'remove', store: STORE, paths: ['medicine'] });
    assert.deepEqual(await search(), []);
  });

  it('answers while a long document is being added, and then finds all of it', async () => {
    using indexes = new StoreIndexes({ folder: undefined, embeddings: () => undefined, log: silentLogger });
    assert.ok(indexes.acquireOwnership());
    await indexes.change({ ask: 'put', store: STORE, file: fileOf('short', 'The crane is on the roof.') });
    const paragraphs = Array.from({ length: 1500 }, (_, n) => `${`Words of paragraph ${n}, `.repeat(50)}`);
    const text = [...paragraphs, 'The swordfish comes last.'].join('\n\n');
    const ask = (query: string) =>
      indexes.search({ store: STORE, queries: [query], limit: 1, filter: undefined }, AbortSignal.timeout(patience(5)));
    assert.equal((await ask('crane roof'))[0]?.path, 'short');
    let isDone = false;
    const putting = indexes
      .change({ ask: 'put', store: STORE, file: fileOf('long', text) })
      .finally(() => (isDone = true));
    const [hit] = await ask('crane roof');
    assert.deepEqual([hit?.path, isDone], ['short', false]);
    assert.equal((await indexes.progress(STORE)).documents, 1);
    await putting;
    assert.equal((await ask('swordfish'))[0]?.path, 'long');
    assert.equal((await indexes.progress(STORE)).documents, 2);
  });
});
