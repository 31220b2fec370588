import assert from 'node:assert/strict';
import { silentLogger } from '../../../src/base/logger.ts';
import { StoreIndexes } from '../../../src/vector-stores/index/store-indexes.ts';
import { StoreSearch } from '../../../src/vector-stores/store-search.ts';
import { patience } from '../../support/time-limit.ts';

describe('a search in files of a request', () => {
  it('finds passages of every file, however many there are', async () => {
    using indexes = new StoreIndexes({ folder: undefined, embeddings: () => undefined, log: silentLogger });
    const parts = {
      stores: { onChange() {} },
      files: { onRemove() {}, find: async (_: string, id: string) => ({ id, name: `${id}.md` }) },
      reader: {
        text: async (_: string, { id, name, attributes }: { id: string; name: string; attributes: object }) => ({
          ...{ path: id, signature: id, name, title: name, attributes },
          text: 'The tide is high. '.repeat(1000),
        }),
      },
      indexes,
      log: silentLogger,
    };
    using search = new StoreSearch(parts as never);
    const signal = AbortSignal.timeout(patience(9));
    const ids = Array.from({ length: 50 }, (_, n) => `file-${n}`);
    const found = await Promise.all(
      ids.map((id) => search.searchFile({ user: 'ann', id }, { queries: ['tide'], limit: 3 }, signal)),
    );
    assert.deepEqual(
      ids.filter((_, n) => found[n]?.length === 0),
      [],
    );
  });
});
