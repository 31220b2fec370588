import assert from 'node:assert/strict';
import { mkdir, mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { mock } from 'node:test';
import { GatewayError } from '../../../src/base/errors.ts';
import { silentLogger } from '../../../src/base/logger.ts';
import { storeUnavailable } from '../../../src/store/failure.ts';
import { StoreSearch } from '../../../src/vector-stores/store-search.ts';
import { patience } from '../../support/time-limit.ts';

const FILE = { id: 'file-1', name: 'tides.md', state: 'completed', attributes: {} };
const HIT = { path: FILE.id, text: 'The tide is high.', score: 1 };

/** A search whose index is written by another process of this machine: it has the file after so many looks. */
function searchOf(folder: string, looks: number, progressed = () => {}, state = FILE.state, failure?: GatewayError) {
  const hasFile = () => looks < 0;
  const parts = {
    stores: {
      onChange() {},
      revision: async () => 2,
      counts: async () => ({ completed: 1 }),
      async file() {
        if (failure) throw failure;
        return { ...FILE, state };
      },
    },
    indexes: {
      folder,
      acquireOwnership: () => false,
      async progress() {
        progressed();
        looks--;
        return hasFile() ? { documents: 1, revision: 2 } : { documents: 0 };
      },
      search: async () => (hasFile() ? [HIT] : []),
    },
    files: { onRemove() {} },
    log: silentLogger,
  };
  return new StoreSearch(parts as never);
}

describe('a search while another process writes the index', () => {
  let folder = '';
  before(async () => {
    folder = await mkdtemp(join(tmpdir(), 'index-'));
  });
  after(() => rm(folder, { recursive: true }));
  const ask = (search: StoreSearch) =>
    search.search('vs_1', { queries: ['tide'], limit: 1 }, AbortSignal.timeout(patience(9)));

  it('waits while the index is empty, and fails as overloaded if it stays empty', async () => {
    let now = performance.now();
    const clock = mock.method(performance, 'now', () => now);
    try {
      // Two seconds pass with each look.
      using soon = searchOf(folder, 3, () => (now += 2000));
      assert.deepEqual(
        (await ask(soon)).map(({ text }) => text),
        [HIT.text],
      );
      using never = searchOf(folder, 100, () => (now += 2000));
      await assert.rejects(ask(never), { code: 'overloaded' });
    } finally {
      clock.mock.restore();
    }
  });

  it('survives a request of another process that cannot be removed', async () => {
    const updated = Promise.withResolvers<void>();
    const revision = async (store: string) => store === 'vs_2' && updated.resolve();
    const stores = { onChange() {}, revision };
    const indexes = { folder, isOwner: true };
    await mkdir(join(folder, 'vs_2.wanted'));
    using _ = new StoreSearch({ stores, indexes, files: { onRemove() {} }, log: silentLogger } as never);
    await updated.promise;
  });

  it('finds nothing in a file that is not completed, whatever the index holds', async () => {
    for (const state of ['completed', 'in_progress', 'failed', 'cancelled']) {
      using search = searchOf(folder, -1, undefined, state);
      assert.equal((await ask(search)).length, state === 'completed' ? 1 : 0, state);
    }
  });

  it('finds nothing in a file that is gone, but fails if the records cannot be read', async () => {
    using gone = searchOf(folder, -1, undefined, undefined, new GatewayError('not_found', 'It is gone.'));
    assert.deepEqual(await ask(gone), []);
    using away = searchOf(folder, -1, undefined, undefined, storeUnavailable('it is away'));
    await assert.rejects(ask(away), { code: 'store_unavailable' });
  });
});
