import { randomBytes } from 'node:crypto';
import { boundedCache } from '../base/bounded-cache.ts';
import type { Clock } from '../base/clock.ts';
import { GatewayError } from '../base/errors.ts';
import { yieldToEventLoop } from '../base/load/event-loop.ts';
import { publicFileId } from '../files/files.ts';
import { type ListCursor, noteRemoval, removedFrom, resolveCursor } from '../store/removed-records.ts';
import type { DeliveryStore } from '../store/side-stores/delivery-store.ts';
import type { Entry, EntryQuery, EntryStore } from '../store/side-stores/entry-store.ts';
import type { FileRecord } from '../store/side-stores/file-store.ts';
import type { Attributes } from './filters.ts';
import {
  DAY_MS,
  type FileState,
  type FileValue,
  fileEntry,
  forRecords,
  isExpired,
  listNames,
  OPEN,
  parseFile,
  parseStore,
  type StoredFile,
  type StoreValue,
  storeEntry,
  type VectorStore,
} from './records.ts';

export interface VectorStoresParts {
  entries: EntryStore;
  readings: DeliveryStore;
  clock: Clock;
}

/** Most vector stores of a user, and most files of a vector store. */
const MAX_STORES = 1000;
const MAX_FILES = 20_000;
/** Attempts to change a record that others change at the same time. */
const ATTEMPTS = 10;
/** Records that are read in one step; a concurrent search waits for one step. */
const PAGE_SIZE = 200;
/** The bytes of a growing list are counted again after this many times as long as the last count took. */
const COUNT_REST_FACTOR = 20;
/** How often the last activity is updated, in milliseconds: searches are frequent, and clients see seconds. */
const TOUCH_INTERVAL_MS = 1000;
/** When the reader checks a user at the latest, in milliseconds, if this process dies meanwhile. */
const READ_FALLBACK_MS = 5000;

/** Files to add to a vector store. */
export interface NewFiles {
  files: readonly { file: FileRecord; attributes: Attributes; chunking?: Record<string, unknown> | undefined }[];
  batch?: string;
}

/**
 * Searchable collections of users' files (docs/vector-stores.md). Their records are in the store; `DocumentReader`
 * learns about its work through `readings`, and `StoreSearch` searches.
 */
export class VectorStores {
  readonly #parts: VectorStoresParts;
  readonly #workListeners = new Set<() => void>();
  readonly #changeListeners = new Set<(store: string) => void>();
  readonly #bytes = boundedCache<{ revision: number; bytes: number; goodUntil: number }>(10_000);

  constructor(parts: VectorStoresParts) {
    this.#parts = parts;
  }

  /** Calls `listener` when this process has new work for the reader. */
  onWork(listener: () => void): void {
    this.#workListeners.add(listener);
  }

  /** Calls `listener` when this process detaches a file or changes its attributes: no search may find the old state. */
  onChange(listener: (store: string) => void): void {
    this.#changeListeners.add(listener);
  }

  /** @throws GatewayError `quota_exceeded`, `store_unavailable`. */
  async create(user: string, value: Omit<StoreValue, 'lastActiveAt'>): Promise<VectorStore> {
    const { entries, clock } = this.#parts;
    const now = clock.now();
    const id = `vs_${randomBytes(16).toString('hex')}`;
    const entry = storeEntry(id, { ...value, lastActiveAt: now }, now);
    await this.#scheduleExpiry(user, value);
    // The list of all stores comes first: what its user sees is always indexed, and what is only there is never seen.
    await entries.add(ALL_STORES, { id, state: OPEN, value: user, createdAt: now });
    if ((await entries.add(listNames.stores(user), entry, { max: MAX_STORES })) === 'full') {
      await entries.remove(ALL_STORES, id);
      throw new GatewayError('quota_exceeded', `You have ${MAX_STORES} vector stores already. Delete some.`);
    }
    return { ...value, lastActiveAt: now, id, user, createdAt: now, entry };
  }

  /** A user's vector store. @throws GatewayError `not_found`, `store_unavailable`. */
  async find(user: string, id: string): Promise<VectorStore> {
    const { entries, clock } = this.#parts;
    const store = parseStore(await entries.get(listNames.stores(user), id), user);
    if (!store || isExpired(store, clock.now()))
      throw new GatewayError('not_found', `There is no vector store ${id.slice(0, 80)}.`);
    return store;
  }

  /** The owner of a vector store; undefined if there is none of this id. */
  async userOf(id: string): Promise<string | undefined> {
    return (await this.#parts.entries.get(ALL_STORES, id))?.value;
  }

  /** A page of a user's vector stores; it is empty only at the end of the list. */
  async list(user: string, query: EntryQuery): Promise<{ stores: VectorStore[]; hasMore: boolean }> {
    const { entries, hasMore } = await this.#parts.entries.page(listNames.stores(user), query);
    const now = this.#parts.clock.now();
    const stores = entries.flatMap((entry) => parseStore(entry, user) ?? []).filter((store) => !isExpired(store, now));
    if (stores.length > 0 || !hasMore) return { stores, hasMore };
    return await this.list(user, { ...query, after: entries.at(-1) });
  }

  /** Resolves the cursor of a list of vector stores; its vector store may have been removed. @throws as `find`. */
  storeCursor(user: string, cursor: ListCursor): Promise<EntryQuery['after']> {
    return this.#place(listNames.stores(user), cursor);
  }

  /** Resolves the cursor of a list of files. @throws as `find`. */
  fileCursor(store: string, cursor: ListCursor): Promise<EntryQuery['after']> {
    return this.#place(listNames.files(store), cursor);
  }

  async #place(list: string, cursor: ListCursor): Promise<EntryQuery['after']> {
    const { entries } = this.#parts;
    const find = async () => (await entries.get(list, cursor.id))?.createdAt;
    return { id: cursor.id, createdAt: await resolveCursor(entries, list, { ...cursor, find }) };
  }

  /** Changes the properties of a vector store. @throws GatewayError `not_found`, `store_unavailable`. */
  async update(user: string, id: string, change: (store: VectorStore) => StoreValue): Promise<VectorStore> {
    for (let attempt = 1; attempt <= ATTEMPTS; attempt++) {
      const before = await this.find(user, id);
      const value = change(before);
      const entry = storeEntry(id, value, before.createdAt);
      await this.#scheduleExpiry(user, value);
      if (!(await this.#parts.entries.replace(listNames.stores(user), entry, { before: before.entry }))) continue;
      return { ...value, id, user, createdAt: before.createdAt, entry };
    }
    throw conflictError(id);
  }

  /** Notes activity, which postpones the expiry. Never rejects. */
  async touch(store: VectorStore): Promise<void> {
    const now = this.#parts.clock.now();
    if (now - store.lastActiveAt < TOUCH_INTERVAL_MS) return;
    await this.update(store.user, store.id, (known) => ({ ...known, lastActiveAt: now })).catch(() => {});
  }

  /**
   * Removes a vector store for good; its files stay with the user. From the first change on it has expired: if this process
   * dies meanwhile, the reader removes the rest.
   */
  async remove(store: VectorStore): Promise<void> {
    const { entries, clock } = this.#parts;
    const now = clock.now();
    await noteRemoval(entries, listNames.stores(store.user), { id: store.id, place: store.createdAt, now });
    if (!isExpired(store, now)) {
      await this.update(store.user, store.id, (known) => ({ ...known, expiresAfterDays: 0, lastActiveAt: 0 }));
    }
    // An index whose store is missing in the list of all stores is dropped.
    await entries.remove(ALL_STORES, store.id);
    const files: StoredFile[] = [];
    for await (const file of this.filesOf(store.id)) files.push(file);
    await forRecords(files, ({ id }) => entries.remove(listNames.placesOf(id), store.id));
    const { entries: batches } = await entries.page(listNames.batches(store.id), { limit: 10_000, order: 'asc' });
    for (const batch of batches) await entries.clear(listNames.filesOfBatch(batch.id));
    await entries.clear(listNames.batches(store.id));
    await entries.clear(listNames.files(store.id));
    await entries.clear(removedFrom(listNames.files(store.id)));
    await entries.remove(listNames.stores(store.user), store.id);
  }

  /**
   * Counts the bytes of the files that were read. Counted once per change of the list, and less often while it `grows`,
   * because counting thousands of files takes a while.
   */
  async bytes(id: string, { grows }: { grows: boolean }): Promise<number> {
    const revision = await this.revision(id);
    const known = this.#bytes.get(id);
    const startedAt = performance.now();
    if (known && (known.revision === revision || (grows && startedAt < known.goodUntil))) return known.bytes;
    let bytes = 0;
    for await (const file of this.filesOf(id, 'completed')) bytes += file.bytes;
    const now = performance.now();
    this.#bytes.set(id, { revision, bytes, goodUntil: now + COUNT_REST_FACTOR * (now - startedAt) });
    return bytes;
  }

  async counts(id: string): Promise<Record<FileState, number>> {
    const none = { in_progress: 0, completed: 0, failed: 0, cancelled: 0 };
    return { ...none, ...(await this.#parts.entries.counts(listNames.files(id))) };
  }

  /**
   * Adds files, to be read in the background. A file that is already in it gets the new attributes; one that failed or
   * was cancelled is read again.
   * @throws GatewayError `quota_exceeded`, `store_unavailable`.
   */
  async attach(store: VectorStore, { files, batch }: NewFiles): Promise<StoredFile[]> {
    const { entries } = this.#parts;
    // If this process dies meanwhile, the reader still checks the user.
    await this.#scheduleReading(store.user, READ_FALLBACK_MS);
    const attached = await forRecords(files, (file) => this.#attach(store, file, batch));
    if (batch !== undefined) {
      const createdAt = this.#parts.clock.now();
      await Promise.all(
        attached.map(({ id }) => entries.add(listNames.filesOfBatch(batch), { id, state: OPEN, value: '', createdAt })),
      );
    }
    await this.#scheduleReading(store.user, 0);
    for (const listener of this.#workListeners) listener();
    return attached;
  }

  async #attach(store: VectorStore, { file, attributes, chunking }: NewFiles['files'][number], batch?: string) {
    const { entries, clock } = this.#parts;
    const id = publicFileId(file.id);
    const now = clock.now();
    await entries.add(listNames.placesOf(id), { id: store.id, state: OPEN, value: store.user, createdAt: now });
    const value: FileValue = { name: file.name, bytes: file.bytes, attributes, chunking, batch, version: 1 };
    const entry = fileEntry(id, 'in_progress', value, now);
    const added = await entries.add(listNames.files(store.id), entry, { max: MAX_FILES });
    if (added === 'full') {
      await entries.remove(listNames.placesOf(id), store.id);
      const message = `A vector store holds ${MAX_FILES} files at most.`;
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
    const file = parseFile(await this.#parts.entries.get(listNames.files(store), id), store);
    if (!file) throw new GatewayError('not_found', `There is no file ${id.slice(0, 80)} in this vector store.`);
    return file;
  }

  async listFiles(store: string, query: EntryQuery): Promise<{ files: StoredFile[]; hasMore: boolean }> {
    const { entries, hasMore } = await this.#parts.entries.page(listNames.files(store), query);
    return { files: entries.flatMap((entry) => parseFile(entry, store) ?? []), hasMore };
  }

  /** All files, or those in one state. */
  filesOf(store: string, state?: FileState): AsyncGenerator<StoredFile> {
    return this.#readAll(listNames.files(store), (entry) => parseFile(entry, store), state);
  }

  /** All vector stores of a user, including expired ones that are not removed yet. */
  storesOf(user: string): AsyncGenerator<VectorStore> {
    return this.#readAll(listNames.stores(user), (entry) => parseStore(entry, user));
  }

  async *#readAll<T>(list: string, read: (entry: Entry) => T | undefined, state?: FileState): AsyncGenerator<T> {
    for (let after: Entry | undefined; ; await yieldToEventLoop()) {
      const page = await this.#parts.entries.page(list, { limit: PAGE_SIZE, order: 'asc', after, state });
      for (const entry of page.entries) {
        const known = read(entry);
        if (known) yield known;
      }
      after = page.entries.at(-1);
      if (!page.hasMore) return;
    }
  }

  /** Changes the record of a file, unless `change` returns undefined. @throws as `file`. */
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
      if (!(await this.#parts.entries.replace(listNames.files(store), entry, { before: before.entry }))) continue;
      // One that is searched already has other attributes now.
      if (before.state === 'completed') for (const listener of this.#changeListeners) listener(store);
      return { ...value, id, store, state, createdAt: before.createdAt, entry };
    }
    throw conflictError(id);
  }

  /** Replaces the attributes of a file. @throws GatewayError `not_found`, `store_unavailable`. */
  async setAttributes(store: string, id: string, attributes: Attributes): Promise<StoredFile> {
    return await this.changeFile(store, id, (known) => ({
      state: known.state,
      value: { ...known, attributes, version: known.version + 1 },
    }));
  }

  /** Detaches a file, which stays with the user. False if it was not in the vector store. */
  async detach(store: string, id: string): Promise<boolean> {
    const { entries, clock } = this.#parts;
    const entry = await entries.get(listNames.files(store), id);
    if (entry) await noteRemoval(entries, listNames.files(store), { id, place: entry.createdAt, now: clock.now() });
    const removed = await entries.remove(listNames.files(store), id);
    await entries.remove(listNames.placesOf(id), store);
    for (const listener of this.#changeListeners) listener(store);
    return removed;
  }

  /** Detaches a file that is being removed for good from all vector stores. */
  async detachEverywhere(file: string): Promise<void> {
    const { entries } = this.#parts;
    const { entries: places } = await entries.page(listNames.placesOf(file), { limit: 10_000, order: 'asc' });
    for (const place of places) await this.detach(place.id, file);
  }

  /** Changes with every change of the files of the vector store. */
  revision(store: string): Promise<number> {
    return this.#parts.entries.revision(listNames.files(store));
  }

  /** Call it before the change: the reader removes vector stores that have expired. */
  async #scheduleExpiry(user: string, { expiresAfterDays: days }: Pick<StoreValue, 'expiresAfterDays'>): Promise<void> {
    if (days !== undefined) await this.#scheduleReading(user, Math.max(READ_FALLBACK_MS, days * DAY_MS));
  }

  #scheduleReading(user: string, dueInMs: number): Promise<void> {
    return this.#parts.readings.schedule(readerId(user), { dueInMs });
  }
}

/** The list of all vector stores, with their users. */
const ALL_STORES = 'vector stores';

/** The key of a user in the schedule of readings. Encoded, because a user name may contain any character. */
export function readerId(user: string): string {
  return encodeURIComponent(user);
}

function conflictError(id: string): GatewayError {
  return new GatewayError('store_unavailable', `${id} is being changed by others. Try again.`);
}
