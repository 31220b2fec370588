import { randomBytes } from 'node:crypto';
import type { Clock } from '../base/clock.ts';
import { GatewayError, undefinedIfNotFound } from '../base/errors.ts';
import type { EntryStore } from '../store/side-stores/entry-store.ts';
import {
  type FileBatch,
  forRecords,
  listNames,
  OPEN,
  parseFile,
  type StoredFile,
  type VectorStore,
} from './records.ts';
import type { NewFiles, VectorStores } from './vector-stores.ts';

/** Most batches of a vector store; the oldest are removed. */
const MAX_BATCHES = 10_000;

/** Files that were added to a vector store together, with their progress (docs/vector-stores.md). */
export class FileBatches {
  readonly #parts: { entries: EntryStore; stores: VectorStores; clock: Clock };

  constructor(parts: { entries: EntryStore; stores: VectorStores; clock: Clock }) {
    this.#parts = parts;
  }

  async create(store: VectorStore, files: NewFiles['files']): Promise<FileBatch> {
    const id = `vsfb_${randomBytes(16).toString('hex')}`;
    const createdAt = this.#parts.clock.now();
    await this.#parts.entries.add(
      listNames.batches(store.id),
      { id, state: OPEN, value: '', createdAt },
      { keepNewest: MAX_BATCHES },
    );
    await this.#parts.stores.attach(store, { files, batch: id });
    return { id, store: store.id, createdAt };
  }

  /** @throws GatewayError `not_found`, `store_unavailable`. */
  async find(store: string, id: string): Promise<FileBatch> {
    const entry = await this.#parts.entries.get(listNames.batches(store), id);
    if (!entry) throw new GatewayError('not_found', `There is no file batch ${id.slice(0, 80)}.`);
    return { id, store, createdAt: entry.createdAt };
  }

  /** The files of a batch in their present state, without those that were detached. */
  async files({ id, store }: FileBatch): Promise<StoredFile[]> {
    const { entries } = this.#parts;
    const page = await entries.page(listNames.filesOfBatch(id), { limit: 10_000, order: 'asc' });
    const read = await forRecords(page.entries, (entry) => entries.get(listNames.files(store), entry.id));
    return read.flatMap((entry) => parseFile(entry, store) ?? []);
  }

  /** Cancels the files of the batch that are not read yet. */
  async cancel(batch: FileBatch): Promise<void> {
    for (const file of await this.files(batch)) {
      await this.#parts.stores
        .changeFile(batch.store, file.id, (known) =>
          known.state === 'in_progress' ? { state: 'cancelled', value: known } : undefined,
        )
        .catch(undefinedIfNotFound);
    }
  }
}
