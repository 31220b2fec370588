import { readdir, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { LRUCache } from 'lru-cache';
import { abortable } from '../base/abort.ts';
import { GatewayError, messageOf } from '../base/errors.ts';
import type { Logger } from '../base/logger.ts';
import { type Files, publicFileId } from '../files/files.ts';
import type { DocumentReader } from './document-reader.ts';
import { UnreadableDocument } from './document-text.ts';
import type { Filter } from './filters.ts';
import { type IndexHit, inMemory } from './index/messages.ts';
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

/** A passage that was found, with its file. */
export interface FoundPassage extends IndexHit {
  file: Pick<StoredFile, 'id' | 'name' | 'attributes'>;
}

/** A search waits so long for the index to be brought up to date, and for one in which nothing is yet, in milliseconds. */
const PATIENCE_MS = 1500;
const EMPTY_PATIENCE_MS = 10_000;
const POLL_MS = 50;
/** An index that grows is brought up to date after so many times as long as that took. */
const REST_FACTOR = 10;
/** How often all indexes of this machine are looked through for what was removed elsewhere, in milliseconds. */
const SWEEP_MS = 20_000;
/** How often it is looked whether another process of this machine waits for an index, in milliseconds. */
const SERVE_MS = 250;
/** Passages are looked for beyond the limit: some may be of files that were taken out meanwhile. */
const SPARE = 10;
const WANTED = '.wanted';

/**
 * Searches in vector stores, each by its own index on this machine. An index follows the list of files in the store: what
 * another machine has read is read here too, and what was removed is taken out.
 */
export class StoreSearch implements Disposable {
  readonly #parts: StoreSearchParts;
  readonly #running = new Map<string, Promise<void>>();
  readonly #restUntil = new Map<string, number>();
  /** Up to which revision indexes were brought here. */
  readonly #noted = new LRUCache<string, number>({ max: 100_000 });
  /** Vector stores that were changed here since their index was brought up to date. */
  readonly #changed = new Set<string>();
  readonly #closing = new AbortController();
  readonly #timers: NodeJS.Timeout[];

  constructor(parts: StoreSearchParts) {
    this.#parts = parts;
    parts.stores.onChange((store) => this.#changed.add(store));
    parts.files.onRemove(({ id }) => parts.indexes.change({ ask: 'drop', store: inMemory(publicFileId(id)) }));
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
   * The best passages of a vector store for any of the queries.
   * @throws GatewayError `overloaded`, `store_unavailable`, `internal_error`; the signal's reason.
   */
  async search(
    store: string,
    { queries, limit, filter }: { queries: readonly string[]; limit: number; filter?: Filter | undefined },
    signal: AbortSignal,
  ): Promise<FoundPassage[]> {
    await this.#refresh(store, signal);
    const hits = await this.#parts.indexes.search({ store, queries, limit: limit + SPARE, filter }, signal);
    // The store knows what is there now, and whose it is; an index may be a moment late.
    const paths = [...new Set(hits.map((hit) => hit.path))];
    const known = await Promise.all(paths.map((path) => this.#parts.stores.file(store, path).catch(() => undefined)));
    const files = new Map(known.map((file) => [file?.id, file]));
    return hits
      .flatMap((hit) => {
        const file = files.get(hit.path);
        return file?.state === 'completed' ? [{ ...hit, file }] : [];
      })
      .slice(0, limit);
  }

  /**
   * The best passages of a file of a user's that is in no vector store. Its index lies in memory and is made when it is
   * asked for, by each process.
   * @throws GatewayError `not_found`, `unsupported_file`, and as `search`.
   */
  async searchFile(
    { user, id }: { user: string; id: string },
    { queries, limit }: { queries: readonly string[]; limit: number },
    signal: AbortSignal,
  ): Promise<FoundPassage[]> {
    const { indexes, files } = this.#parts;
    const { name } = await files.find(user, id);
    const file = { id, name, attributes: {} };
    const store = inMemory(id);
    if ((await indexes.progress(store)).documents === 0) {
      await abortable(
        this.#once(store, () => this.#takeIn(user, file)),
        signal,
      );
    }
    const hits = await indexes.search({ store, queries, limit, filter: undefined }, signal);
    return hits.map((hit) => ({ ...hit, file }));
  }

  async #takeIn(user: string, file: FoundPassage['file']): Promise<void> {
    const { indexes, reader } = this.#parts;
    const text = await reader.text(user, { ...file, version: 1 }).catch((thrown: unknown) => {
      if (!(thrown instanceof UnreadableDocument)) throw thrown;
      throw new GatewayError('unsupported_file', thrown.message, { cause: thrown });
    });
    await indexes.change({ ask: 'put', store: inMemory(file.id), file: text });
  }

  /**
   * Waits, for a while, until the index has what was read, here or elsewhere, and what was changed here. What else is not
   * in it yet does not hold a search up: that index grows. That nothing was found is said of no index that is still empty.
   * @throws GatewayError of an index that stays empty: `overloaded`, or why its files cannot be read now.
   */
  async #refresh(store: string, signal: AbortSignal): Promise<void> {
    const { stores, indexes } = this.#parts;
    const began = performance.now();
    for (;;) {
      const [revision, counts] = await Promise.all([stores.revision(store), stores.counts(store)]);
      // Asked for later: what was read meanwhile does not make the index look late.
      const progress = await indexes.progress(store);
      if (progress.revision === revision) return;
      const isEmpty = progress.documents === 0 && counts.completed > 0;
      const until = began + (isEmpty ? EMPTY_PATIENCE_MS : PATIENCE_MS);
      if (performance.now() >= until) {
        if (!isEmpty) return;
        const message = 'The files of this vector store are still being indexed on this machine. Try again soon.';
        throw new GatewayError('overloaded', message, { retryAfterMs: PATIENCE_MS });
      }
      const isBehind = progress.documents < counts.completed || this.#changed.has(store);
      if (!indexes.own()) {
        // Another process of this machine writes: it is told that somebody waits.
        await writeFile(join(indexes.folder, store + WANTED), '').catch(() => {});
        if (!isBehind) return;
        await sleep(POLL_MS, undefined, { signal });
        continue;
      }
      const mayRest = !this.#changed.has(store) && (this.#restUntil.get(store) ?? 0) > performance.now();
      if (mayRest && !isBehind) return;
      if (mayRest) {
        await sleep(POLL_MS, undefined, { signal });
        continue;
      }
      const updated = this.#bringUpToDate(store);
      if (!isBehind) return;
      const patience = sleep(Math.max(0, until - performance.now()), undefined, { signal, ref: false });
      try {
        await Promise.race([abortable(updated, signal), patience]);
      } catch (thrown) {
        signal.throwIfAborted();
        // Files cannot be read now. What is in the index is found.
        if (isEmpty) throw thrown;
        return;
      }
    }
  }

  /** Once at a time for each index. */
  #bringUpToDate(store: string): Promise<void> {
    const running = this.#once(store, () => this.#update(store));
    running.catch((thrown: unknown) => {
      if (this.#closing.signal.aborted) return;
      this.#parts.log.warn({ store, err: messageOf(thrown) }, 'the index of a vector store is late');
    });
    return running;
  }

  #once(store: string, work: () => Promise<void>): Promise<void> {
    const running = this.#running.get(store) ?? work().finally(() => this.#running.delete(store));
    this.#running.set(store, running);
    return running;
  }

  async #update(store: string): Promise<void> {
    const { stores, indexes, reader } = this.#parts;
    const started = performance.now();
    this.#changed.delete(store);
    // Read before the list: what changes meanwhile is looked at again.
    const revision = await stores.revision(store);
    const user = await stores.userOf(store);
    if (user === undefined) return await indexes.change({ ask: 'drop', store });
    const files = await indexes.state(store);
    const gone = new Set(files.keys());
    for await (const file of stores.filesOf(store)) {
      // What is being read now is put in by whoever reads it.
      if (file.state === 'completed' || file.state === 'in_progress') gone.delete(file.id);
      if (file.state !== 'completed' || files.get(file.id) === signatureOf(file)) continue;
      // It may have been put in since all of them were looked at.
      const known = (await indexes.state(store, file.id)).get(file.id);
      if (known === signatureOf(file)) continue;
      this.#closing.signal.throwIfAborted();
      // Empty: putting it in broke off.
      if (known) {
        const { id: path, attributes } = file;
        await indexes.change({ ask: 'attributes', store, path, signature: signatureOf(file), attributes });
      } else {
        const text = await reader.text(user, file).catch(unlessGone);
        if (text) await indexes.change({ ask: 'put', store, file: text });
      }
    }
    if (gone.size > 0) await indexes.change({ ask: 'remove', store, paths: [...gone] });
    await indexes.change({ ask: 'note', store, revision });
    this.#noted.set(store, revision);
    this.#restUntil.set(store, performance.now() + REST_FACTOR * Math.min(200, performance.now() - started));
  }

  /** Indexes that others wait for, and those that are late: what was removed elsewhere leaves this machine too. */
  async #sweep(): Promise<void> {
    const { stores, indexes, log } = this.#parts;
    try {
      if (!indexes.isOwner) return;
      for (const name of await readdir(indexes.folder)) {
        const store = /^(vs_[0-9a-f]{32})\.db$/.exec(name)?.[1];
        if (store === undefined || this.#closing.signal.aborted) continue;
        const revision = await stores.revision(store);
        const known = this.#noted.get(store) ?? (await indexes.progress(store)).revision;
        if (known !== undefined) this.#noted.set(store, known);
        if (revision !== known || (await stores.userOf(store)) === undefined) await this.#bringUpToDate(store);
      }
    } catch (thrown) {
      if (!this.#closing.signal.aborted)
        log.warn({ err: messageOf(thrown) }, 'indexes of vector stores cannot be looked through now');
    }
  }

  /** Brings the indexes up to date that other processes of this machine wait for. */
  async #serveOthers(): Promise<void> {
    const { indexes } = this.#parts;
    if (!indexes.isOwner) return;
    for (const name of await readdir(indexes.folder).catch(() => [])) {
      if (!name.endsWith(WANTED)) continue;
      await rm(join(indexes.folder, name), { force: true });
      await this.#bringUpToDate(name.slice(0, -WANTED.length)).catch(() => {});
    }
  }
}

/** Files that are gone, and those that nobody can read, are in no index. @throws whatever passes: they are read again. */
function unlessGone(thrown: unknown): undefined {
  const isGone =
    thrown instanceof UnreadableDocument || (thrown instanceof GatewayError && thrown.code === 'not_found');
  if (!isGone) throw thrown;
}
