import { readdir, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { abortable } from '../base/abort.ts';
import { boundedCache } from '../base/bounded-cache.ts';
import { GatewayError, messageOf, undefinedIfNotFound } from '../base/errors.ts';
import { FairSemaphore } from '../base/fair-semaphore.ts';
import type { Logger } from '../base/logger.ts';
import { type Files, publicFileId } from '../files/files.ts';
import type { DocumentReader } from './document-reader.ts';
import { UnreadableDocument } from './document-text.ts';
import type { Filter } from './filters.ts';
import { type IndexHit, memoryIndexName } from './index/messages.ts';
import type { StoreIndexes } from './index/store-indexes.ts';
import { type StoredFile, signatureOf } from './records.ts';
import type { VectorStores } from './vector-stores.ts';

export interface StoreSearchParts {
  stores: VectorStores;
  reader: Pick<DocumentReader, 'text'>;
  files: Pick<Files, 'find' | 'onRemove'>;
  indexes: StoreIndexes;
  log: Logger;
}

/** A search hit with its file. */
export interface FoundPassage extends IndexHit {
  file: Pick<StoredFile, 'id' | 'name' | 'attributes'>;
}

/** How long a search waits until the index is up to date, and until an empty index has something, in milliseconds. */
const MAX_WAIT_MS = 1500;
const MAX_EMPTY_WAIT_MS = 10_000;
const POLL_MS = 50;
/** A growing index is updated again after this many times as long as the last update took. */
const REST_FACTOR = 10;
/** How often all indexes on this machine are checked for removals on other machines, in milliseconds. */
const SWEEP_MS = 20_000;
/** How often to check whether another process on this machine waits for an index, in milliseconds. */
const SERVE_MS = 250;
/** Extra hits to look for, because some may be of files that were detached meanwhile. */
const EXTRA_HITS = 10;
/** Vector stores that are remembered; each is looked at again once it is forgotten. */
const MAX_KNOWN = 10_000;
const WANTED_SUFFIX = '.wanted';
/** Files of requests that are indexed and searched at once, far fewer than fit into memory, and how many may wait. */
const MAX_FILE_SEARCHES = 8;
const MAX_WAITING_FILES = 1000;

/**
 * Searches vector stores, each with its own index on this machine. An index follows the list of files in the store:
 * files that another machine has read are read here too, and removed files are removed here.
 */
export class StoreSearch implements Disposable {
  readonly #parts: StoreSearchParts;
  readonly #running = new Map<string, Promise<void>>();
  readonly #restUntil = boundedCache<number>(MAX_KNOWN);
  /** The revision of each index that is known to be up to date. */
  readonly #indexedRevisions = boundedCache<number>(MAX_KNOWN);
  /** Vector stores that this process changed after the last update of their index. */
  readonly #stale = boundedCache<true>(MAX_KNOWN);
  readonly #closing = new AbortController();
  readonly #fileSearches = new FairSemaphore({
    name: 'attached_files',
    permits: MAX_FILE_SEARCHES,
    maxWaiting: MAX_WAITING_FILES,
    fullError: tooManyFiles,
  });
  readonly #timers: NodeJS.Timeout[];

  constructor(parts: StoreSearchParts) {
    this.#parts = parts;
    parts.stores.onChange((store) => this.#stale.set(store, true));
    parts.files.onRemove(({ id }) => parts.indexes.change({ ask: 'drop', store: memoryIndexName(publicFileId(id)) }));
    this.#timers = [
      setInterval(() => void this.#sweep(), SWEEP_MS).unref(),
      setInterval(() => void this.#serveOthers(), SERVE_MS).unref(),
    ];
  }

  [Symbol.dispose](): void {
    for (const timer of this.#timers) clearInterval(timer);
    this.#closing.abort(new Error('The search in vector stores is closed.'));
  }

  /**
   * Finds the best passages of a vector store for any of the queries.
   * @throws GatewayError `overloaded`, `store_unavailable`, `internal_error`; the reason of the signal.
   */
  async search(
    store: string,
    { queries, limit, filter }: { queries: readonly string[]; limit: number; filter?: Filter | undefined },
    signal: AbortSignal,
  ): Promise<FoundPassage[]> {
    await this.#refresh(store, signal);
    const hits = await this.#parts.indexes.search({ store, queries, limit: limit + EXTRA_HITS, filter }, signal);
    // The store decides which files exist; the index may lag behind.
    const paths = [...new Set(hits.map((hit) => hit.path))];
    const known = await Promise.all(
      paths.map((path) => this.#parts.stores.file(store, path).catch(undefinedIfNotFound)),
    );
    const files = new Map(known.map((file) => [file?.id, file]));
    return hits
      .flatMap((hit) => {
        const file = files.get(hit.path);
        return file?.state === 'completed' ? [{ ...hit, file }] : [];
      })
      .slice(0, limit);
  }

  /**
   * Finds the best passages of a user's file that is in no vector store. Each process builds an index in memory on the
   * first search.
   * @throws GatewayError `not_found`, `unsupported_file`, and as `search`.
   */
  async searchFile(
    { user, id }: { user: string; id: string },
    { queries, limit }: { queries: readonly string[]; limit: number },
    signal: AbortSignal,
  ): Promise<FoundPassage[]> {
    const { indexes, files } = this.#parts;
    const { name } = await files.find(user, id);
    using _ = await this.#fileSearches.acquire(user, signal);
    const file = { id, name, attributes: {} };
    const store = memoryIndexName(id);
    if ((await indexes.progress(store)).documents === 0) {
      await abortable(
        this.#shareRunning(store, () => this.#indexFile(user, file)),
        signal,
      );
    }
    const hits = await indexes.search({ store, queries, limit, filter: undefined }, signal);
    // Too many others may have taken its place in memory.
    if (hits.length === 0 && (await indexes.progress(store)).documents === 0) throw tooManyFiles();
    return hits.map((hit) => ({ ...hit, file }));
  }

  async #indexFile(user: string, file: FoundPassage['file']): Promise<void> {
    const { indexes, reader } = this.#parts;
    const text = await reader.text(user, { ...file, version: 1 }).catch((thrown: unknown) => {
      if (!(thrown instanceof UnreadableDocument)) throw thrown;
      throw new GatewayError('unsupported_file', thrown.message, { cause: thrown });
    });
    await indexes.change({ ask: 'put', store: memoryIndexName(file.id), file: text });
  }

  /**
   * Waits for a while until the index has all files that were read, here or elsewhere, and all changes of this process.
   * Other differences do not delay a search: the index is growing. An empty index never means that nothing was found.
   * @throws GatewayError if an index stays empty: `overloaded`, or why its files cannot be read.
   */
  async #refresh(store: string, signal: AbortSignal): Promise<void> {
    const { stores, indexes } = this.#parts;
    const startedAt = performance.now();
    for (;;) {
      const [revision, counts] = await Promise.all([stores.revision(store), stores.counts(store)]);
      // Read after the counts, so that files that are read meanwhile do not make the index look late.
      const progress = await indexes.progress(store);
      if (progress.revision === revision) return;
      const isEmpty = progress.documents === 0 && counts.completed > 0;
      const until = startedAt + (isEmpty ? MAX_EMPTY_WAIT_MS : MAX_WAIT_MS);
      if (performance.now() >= until) {
        if (!isEmpty) return;
        const message = 'The files of this vector store are still being indexed on this machine. Try again soon.';
        throw new GatewayError('overloaded', message, { retryAfterMs: MAX_WAIT_MS });
      }
      const isBehind = progress.documents < counts.completed || this.#stale.has(store);
      if (!indexes.acquireOwnership()) {
        // Another process on this machine writes; this tells it that a search is waiting.
        await writeFile(join(indexes.folder, store + WANTED_SUFFIX), '').catch(() => {});
        if (!isBehind) return;
        await sleep(POLL_MS, undefined, { signal });
        continue;
      }
      const mayRest = !this.#stale.has(store) && (this.#restUntil.get(store) ?? 0) > performance.now();
      if (mayRest && !isBehind) return;
      if (mayRest) {
        await sleep(POLL_MS, undefined, { signal });
        continue;
      }
      const updated = this.#bringUpToDate(store);
      if (!isBehind) return;
      const timeout = sleep(Math.max(0, until - performance.now()), undefined, { signal, ref: false });
      try {
        await Promise.race([abortable(updated, signal), timeout]);
      } catch (thrown) {
        signal.throwIfAborted();
        // Some files cannot be read now. The search uses what the index has.
        if (isEmpty) throw thrown;
        return;
      }
    }
  }

  /** Updates an index; concurrent calls for the same one share an update. */
  #bringUpToDate(store: string): Promise<void> {
    const running = this.#shareRunning(store, () => this.#update(store));
    running.catch((thrown: unknown) => {
      if (this.#closing.signal.aborted) return;
      this.#parts.log.warn({ store, err: messageOf(thrown) }, 'the index of a vector store could not be updated');
    });
    return running;
  }

  #shareRunning(store: string, work: () => Promise<void>): Promise<void> {
    return this.#running.getOrInsertComputed(store, () => work().finally(() => this.#running.delete(store)));
  }

  async #update(store: string): Promise<void> {
    const { stores, indexes, reader } = this.#parts;
    const started = performance.now();
    this.#stale.delete(store);
    // Read before the list, so that changes made meanwhile cause another update.
    const revision = await stores.revision(store);
    const user = await stores.userOf(store);
    if (user === undefined) return await indexes.change({ ask: 'drop', store });
    const files = await indexes.state(store);
    const gone = new Set(files.keys());
    for await (const file of stores.filesOf(store)) {
      // The document reader adds files that it is reading now.
      if (file.state === 'completed' || file.state === 'in_progress') gone.delete(file.id);
      if (file.state !== 'completed' || files.get(file.id) === signatureOf(file)) continue;
      // The file may have been added after the state was read.
      const known = (await indexes.state(store, file.id)).get(file.id);
      if (known === signatureOf(file)) continue;
      this.#closing.signal.throwIfAborted();
      // The signature is empty if adding the file was interrupted.
      if (known) {
        const { id: path, attributes } = file;
        await indexes.change({ ask: 'attributes', store, path, signature: signatureOf(file), attributes });
      } else {
        const text = await reader.text(user, file).catch(ignoreIfGone);
        if (text) await indexes.change({ ask: 'put', store, file: text });
      }
    }
    if (gone.size > 0) await indexes.change({ ask: 'remove', store, paths: [...gone] });
    await indexes.change({ ask: 'note', store, revision });
    this.#indexedRevisions.set(store, revision);
    this.#restUntil.set(store, performance.now() + REST_FACTOR * Math.min(200, performance.now() - started));
  }

  /** Updates indexes that lag behind: what was removed elsewhere must leave this machine too. */
  async #sweep(): Promise<void> {
    const { stores, indexes, log } = this.#parts;
    try {
      if (!indexes.isOwner) return;
      for (const name of await readdir(indexes.folder)) {
        const store = /^(vs_[0-9a-f]{32})\.db$/.exec(name)?.[1];
        if (store === undefined || this.#closing.signal.aborted) continue;
        const revision = await stores.revision(store);
        const known = this.#indexedRevisions.get(store) ?? (await indexes.progress(store)).revision;
        if (known !== undefined) this.#indexedRevisions.set(store, known);
        if (revision !== known || (await stores.userOf(store)) === undefined) await this.#bringUpToDate(store);
      }
    } catch (thrown) {
      if (!this.#closing.signal.aborted)
        log.warn({ err: messageOf(thrown) }, 'the indexes of vector stores could not be checked');
    }
  }

  /** Updates the indexes that other processes on this machine wait for. */
  async #serveOthers(): Promise<void> {
    const { indexes } = this.#parts;
    if (!indexes.isOwner) return;
    for (const name of await readdir(indexes.folder).catch(() => [])) {
      if (!name.endsWith(WANTED_SUFFIX)) continue;
      // One that stays is served again.
      await rm(join(indexes.folder, name), { force: true }).catch(() => {});
      await this.#bringUpToDate(name.slice(0, -WANTED_SUFFIX.length)).catch(() => {});
    }
  }
}

function tooManyFiles(): GatewayError {
  return new GatewayError('overloaded', 'Too many attached files are being searched. Try again.', {
    retryAfterMs: 2000,
  });
}

/** Files that are gone or unreadable are in no index. @throws any other error: the file is read again. */
function ignoreIfGone(thrown: unknown): undefined {
  const isGone =
    thrown instanceof UnreadableDocument || (thrown instanceof GatewayError && thrown.code === 'not_found');
  if (!isGone) throw thrown;
}
