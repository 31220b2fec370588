import { randomBytes } from 'node:crypto';
import { LRUCache } from 'lru-cache';
import type { Clock } from '../base/clock.ts';
import { GatewayError } from '../base/errors.ts';
import { yieldToEventLoop } from '../base/load/event-loop.ts';
import { publicFileId } from '../files/files.ts';
import type { DeliveryStore } from '../store/beside/delivery-store.ts';
import type { Entry, EntryQuery, EntryStore } from '../store/beside/entry-store.ts';
import type { FileRecord } from '../store/beside/file-store.ts';
import type { Attributes } from './filters.ts';
import {
  type FileState,
  type FileValue,
  fileEntry,
  lists,
  OPEN,
  readFile,
  readStore,
  type StoredFile,
  type StoreValue,
  storeEntry,
  type VectorStore,
} from './records.ts';
import { type Cursor, noteRemoval, placeInList } from './removed-records.ts';

export interface VectorStoresParts {
  entries: EntryStore;
  readings: DeliveryStore;
  clock: Clock;
}

/** Vector stores of one user, files of one store, and files of one request. */
const MOST_STORES = 1000;
const MOST_FILES = 20_000;
/** Records that are written beside each other. */
const AT_ONCE = 32;
/** Somebody else may have changed a record between reading and writing. */
const ATTEMPTS = 10;
/** Records that are read in one step: whoever searches meanwhile waits for one. */
const PAGE = 200;
/** Bytes of a list that grows are counted after so many times as long as that took. */
const COUNT_REST = 20;
const DAY_MS = 86_400_000;
/** The last activity is noted this often, in milliseconds: searches are many, and clients see seconds. */
const ACTIVE_MS = 1000;
/** Whether somebody has to read is looked at after so long at the latest, in milliseconds, whatever dies meanwhile. */
const LOOK_MS = 5000;

/** Files that are to be put into a vector store. */
export interface NewFiles {
  files: readonly { file: FileRecord; attributes: Attributes; chunking?: Record<string, unknown> | undefined }[];
  batch?: string;
}

/**
 * Collections of users' files that can be searched (docs/vector-stores.md). What is known of them lies in the store; who
 * reads and searches is told of by `readings` and lies in `reading/`.
 */
export class VectorStores {
  readonly #parts: VectorStoresParts;
  readonly #wakers = new Set<() => void>();
  readonly #changed = new Set<(store: string) => void>();
  readonly #bytes = new LRUCache<string, { revision: number; bytes: number; goodUntil: number }>({ max: 10_000 });

  constructor(parts: VectorStoresParts) {
    this.#parts = parts;
  }

  /** Calls `listener` when this process has something for the reader. */
  onWork(listener: () => void): void {
    this.#wakers.add(listener);
  }

  /** Calls `listener` when this process took a file out or changed its attributes: nobody may find it as it was. */
  onChange(listener: (store: string) => void): void {
    this.#changed.add(listener);
  }

  /** @throws GatewayError `quota_exceeded`, `store_unavailable`. */
  async create(user: string, value: Omit<StoreValue, 'lastActiveAt'>): Promise<VectorStore> {
    const { entries, clock } = this.#parts;
    const now = clock.now();
    const id = `vs_${randomBytes(16).toString('hex')}`;
    const entry = storeEntry(id, { ...value, lastActiveAt: now }, now);
    // Whoever finds it in the list of all finds it in that of its user.
    if ((await entries.add(lists.stores(user), entry, { most: MOST_STORES })) === 'full') {
      throw new GatewayError('quota_exceeded', `You have ${MOST_STORES} vector stores already. Delete some.`);
    }
    await entries.add(ALL, { id, state: OPEN, value: user, createdAt: now });
    if (value.expiresAfterDays !== undefined) await this.#expect(user, value.expiresAfterDays * DAY_MS);
    return { ...value, lastActiveAt: now, id, user, createdAt: now, entry };
  }

  /** A user's vector store. @throws GatewayError `not_found`, `store_unavailable`. */
  async find(user: string, id: string): Promise<VectorStore> {
    const { entries, clock } = this.#parts;
    const store = readStore(await entries.get(lists.stores(user), id), user);
    if (!store || isOver(store, clock.now()))
      throw new GatewayError('not_found', `There is no vector store ${id.slice(0, 80)}.`);
    return store;
  }

  /** Whose a vector store is; undefined where there is none of this id. */
  async userOf(id: string): Promise<string | undefined> {
    return (await this.#parts.entries.get(ALL, id))?.value;
  }

  async list(user: string, query: EntryQuery): Promise<{ stores: VectorStore[]; hasMore: boolean }> {
    const { entries, hasMore } = await this.#parts.entries.page(lists.stores(user), query);
    const now = this.#parts.clock.now();
    const stores = entries.flatMap((entry) => readStore(entry, user) ?? []).filter((store) => !isOver(store, now));
    return { stores, hasMore };
  }

  /** Where a page of a list begins: at a vector store that may have been removed. @throws as `find`. */
  storeCursor(user: string, cursor: Cursor): Promise<EntryQuery['after']> {
    return placeInList(this.#parts.entries, lists.stores(user), cursor);
  }

  /** The same of the files of a vector store. */
  fileCursor(store: string, cursor: Cursor): Promise<EntryQuery['after']> {
    return placeInList(this.#parts.entries, lists.files(store), cursor);
  }

  /** Changes what is known of it. @throws GatewayError `not_found`, `store_unavailable`. */
  async update(user: string, id: string, change: (store: VectorStore) => StoreValue): Promise<VectorStore> {
    for (let attempt = 1; attempt <= ATTEMPTS; attempt++) {
      const before = await this.find(user, id);
      const entry = storeEntry(id, change(before), before.createdAt);
      if (!(await this.#parts.entries.replace(lists.stores(user), entry, { before: before.entry }))) continue;
      const after = await this.find(user, id);
      if (after.expiresAfterDays !== undefined) await this.#expect(user, after.expiresAfterDays * DAY_MS);
      return after;
    }
    throw busy(id);
  }

  /** Somebody works with it: it does not expire yet. Never fails. */
  async touch(store: VectorStore): Promise<void> {
    const now = this.#parts.clock.now();
    if (now - store.lastActiveAt < ACTIVE_MS) return;
    await this.update(store.user, store.id, (known) => ({ ...known, lastActiveAt: now })).catch(() => {});
  }

  /** Removes it for good; its files stay the user's. */
  async remove(store: VectorStore): Promise<void> {
    const { entries, clock } = this.#parts;
    await noteRemoval(entries, lists.stores(store.user), { entry: store.entry, now: clock.now() });
    // First what it is found by: indexes are dropped by whoever misses it.
    await entries.remove(ALL, store.id);
    for await (const file of this.filesOf(store.id)) await entries.remove(lists.placesOf(file.id), store.id);
    const { entries: batches } = await entries.page(lists.batches(store.id), { limit: 10_000, order: 'asc' });
    for (const batch of batches) await entries.clear(lists.filesOfBatch(batch.id));
    await entries.clear(lists.batches(store.id));
    await entries.clear(lists.files(store.id));
    await entries.clear(lists.removedFrom(lists.files(store.id)));
    await entries.remove(lists.stores(store.user), store.id);
  }

  /**
   * How many bytes the files have that were read. Counted once for each change of the list, and now and then while it
   * `grows`: to count thousands of files takes a while.
   */
  async bytes(id: string, { grows }: { grows: boolean }): Promise<number> {
    const revision = await this.revision(id);
    const known = this.#bytes.get(id);
    const began = performance.now();
    if (known && (known.revision === revision || (grows && began < known.goodUntil))) return known.bytes;
    let bytes = 0;
    for await (const file of this.filesOf(id, 'completed')) bytes += file.bytes;
    const now = performance.now();
    this.#bytes.set(id, { revision, bytes, goodUntil: now + COUNT_REST * (now - began) });
    return bytes;
  }

  /** How many files are in each state. */
  async counts(id: string): Promise<Record<FileState, number>> {
    const none = { in_progress: 0, completed: 0, failed: 0, cancelled: 0 };
    return { ...none, ...(await this.#parts.entries.counts(lists.files(id))) };
  }

  /**
   * Puts files in, to be read in the background. One that is in it already gets the new attributes, and one that failed or
   * was cancelled is read again.
   * @throws GatewayError `quota_exceeded`, `store_unavailable`.
   */
  async attach(store: VectorStore, { files, batch }: NewFiles): Promise<StoredFile[]> {
    const { entries } = this.#parts;
    // Whatever dies meanwhile: somebody looks.
    await this.#expect(store.user, LOOK_MS);
    const attached: StoredFile[] = [];
    for (let at = 0; at < files.length; at += AT_ONCE) {
      const some = files.slice(at, at + AT_ONCE);
      attached.push(...(await Promise.all(some.map((one) => this.#attach(store, one, batch)))));
    }
    if (batch !== undefined) {
      const createdAt = this.#parts.clock.now();
      await Promise.all(
        attached.map(({ id }) => entries.add(lists.filesOfBatch(batch), { id, state: OPEN, value: '', createdAt })),
      );
    }
    await this.#expect(store.user, 0);
    for (const wake of this.#wakers) wake();
    return attached;
  }

  async #attach(store: VectorStore, { file, attributes, chunking }: NewFiles['files'][number], batch?: string) {
    const { entries, clock } = this.#parts;
    const id = publicFileId(file.id);
    const now = clock.now();
    await entries.add(lists.placesOf(id), { id: store.id, state: OPEN, value: store.user, createdAt: now });
    const value: FileValue = { name: file.name, bytes: file.bytes, attributes, chunking, batch, version: 1 };
    const entry = fileEntry(id, 'in_progress', value, now);
    const added = await entries.add(lists.files(store.id), entry, { most: MOST_FILES });
    if (added === 'full') {
      await entries.remove(lists.placesOf(id), store.id);
      const message = `A vector store holds ${MOST_FILES} files at most.`;
      throw new GatewayError('quota_exceeded', message, { param: 'file_id' });
    }
    if (added === 'added')
      return { ...value, id, store: store.id, state: 'in_progress' as const, createdAt: now, entry };
    return await this.changeFile(store.id, id, (known) => ({
      state: known.state === 'completed' ? 'completed' : 'in_progress',
      value: { ...known, attributes, chunking, batch, version: known.version + 1, error: undefined },
    }));
  }

  /** A file of a vector store. @throws GatewayError `not_found`, `store_unavailable`. */
  async file(store: string, id: string): Promise<StoredFile> {
    const file = readFile(await this.#parts.entries.get(lists.files(store), id), store);
    if (!file) throw new GatewayError('not_found', `There is no file ${id.slice(0, 80)} in this vector store.`);
    return file;
  }

  async listFiles(store: string, query: EntryQuery): Promise<{ files: StoredFile[]; hasMore: boolean }> {
    const { entries, hasMore } = await this.#parts.entries.page(lists.files(store), query);
    return { files: entries.flatMap((entry) => readFile(entry, store) ?? []), hasMore };
  }

  /** All files, or those in one state. */
  filesOf(store: string, state?: FileState): AsyncGenerator<StoredFile> {
    return this.#all(lists.files(store), (entry) => readFile(entry, store), state);
  }

  /** All vector stores of a user, also expired ones that are not removed yet. */
  storesOf(user: string): AsyncGenerator<VectorStore> {
    return this.#all(lists.stores(user), (entry) => readStore(entry, user));
  }

  async *#all<T>(list: string, read: (entry: Entry) => T | undefined, state?: FileState): AsyncGenerator<T> {
    for (let after: Entry | undefined; ; await yieldToEventLoop()) {
      const page = await this.#parts.entries.page(list, { limit: PAGE, order: 'asc', after, state });
      for (const entry of page.entries) {
        const known = read(entry);
        if (known) yield known;
      }
      after = page.entries.at(-1);
      if (!page.hasMore) return;
    }
  }

  /** Changes what is known of a file. `undefined` leaves it as it is. @throws GatewayError `not_found`, `store_unavailable`. */
  async changeFile(
    store: string,
    id: string,
    change: (file: StoredFile) => { state: FileState; value: FileValue } | undefined,
  ): Promise<StoredFile> {
    for (let attempt = 1; attempt <= ATTEMPTS; attempt++) {
      const before = await this.file(store, id);
      const changed = change(before);
      if (!changed) return before;
      const { state, value } = changed;
      const entry = fileEntry(id, state, value, before.createdAt);
      if (!(await this.#parts.entries.replace(lists.files(store), entry, { before: before.entry }))) continue;
      return { ...value, id, store, state, createdAt: before.createdAt, entry };
    }
    throw busy(id);
  }

  /** Gives a file other attributes. @throws GatewayError `not_found`, `store_unavailable`. */
  async setAttributes(store: string, id: string, attributes: Attributes): Promise<StoredFile> {
    const file = await this.changeFile(store, id, (known) => ({
      state: known.state,
      value: { ...known, attributes, version: known.version + 1 },
    }));
    for (const tell of this.#changed) tell(store);
    return file;
  }

  /** Takes a file out; it stays the user's. False where it was not in it. */
  async detach(store: string, id: string): Promise<boolean> {
    const { entries, clock } = this.#parts;
    const entry = await entries.get(lists.files(store), id);
    if (entry) await noteRemoval(entries, lists.files(store), { entry, now: clock.now() });
    const removed = await entries.remove(lists.files(store), id);
    await entries.remove(lists.placesOf(id), store);
    for (const tell of this.#changed) tell(store);
    return removed;
  }

  /** A file is removed for good: it is taken out wherever it is. */
  async forget(file: string): Promise<void> {
    const { entries } = this.#parts;
    const { entries: places } = await entries.page(lists.placesOf(file), { limit: 10_000, order: 'asc' });
    for (const place of places) await this.detach(place.id, file);
  }

  /** Changes with every change of what is in the vector store. */
  revision(store: string): Promise<number> {
    return this.#parts.entries.revision(lists.files(store));
  }

  #expect(user: string, dueInMs: number): Promise<void> {
    return this.#parts.readings.expect(readerId(user), { dueInMs });
  }
}

/** The list of all vector stores, with their users. */
const ALL = 'vector stores';

/** How a user stands among those who have something to be read: any name may stand in the key of a store. */
export function readerId(user: string): string {
  return encodeURIComponent(user);
}

/** When it expires, in Unix milliseconds. */
export function expiryOf({ expiresAfterDays, lastActiveAt }: VectorStore): number | undefined {
  return expiresAfterDays === undefined ? undefined : lastActiveAt + expiresAfterDays * DAY_MS;
}

export function isOver(store: VectorStore, now: number): boolean {
  return (expiryOf(store) ?? Number.POSITIVE_INFINITY) <= now;
}

function busy(id: string): GatewayError {
  return new GatewayError('store_unavailable', `${id} is being changed by others. Try again.`);
}
