import { setTimeout as sleep } from 'node:timers/promises';
import type { Clock } from '../base/clock.ts';
import { GatewayError, messageOf } from '../base/errors.ts';
import type { Logger } from '../base/logger.ts';
import type { Files } from '../files/files.ts';
import type { DeliveryStore } from '../store/side-stores/delivery-store.ts';
import { type DocumentTexts, UnreadableDocument } from './document-text.ts';
import type { StoreIndexes } from './index/store-indexes.ts';
import { expiryOf, isExpired, type StoredFile, signatureOf } from './records.ts';
import type { VectorStores } from './vector-stores.ts';

export interface DocumentReaderParts {
  stores: VectorStores;
  readings: DeliveryStore;
  files: Files;
  texts: DocumentTexts;
  indexes: StoreIndexes;
  clock: Clock;
  log: Logger;
}

/** How often to check whether there is anything to read, in milliseconds. */
const POLL_MS = 1000;
/** A user's turn: largest number of files, and the time after which no further one is started, in milliseconds. */
const TURN_FILES = 8;
const TURN_MS = 2000;
/** How long a user is reserved for this process: longer than a whole turn, but others wait for it after a crash. */
const LEASE_MS = 25_000;
/** When to try a user again whose files could not be read, in milliseconds. */
const RETRY_MS = 2000;
/** When to check a user without unread files again, in milliseconds: vector stores expire. */
const RECHECK_MS = 3_600_000;
/** Files that are read in parallel. */
const CONCURRENCY = 2;

/**
 * Reads the files that users add to vector stores, in turns, so that nobody waits for thousands of files of somebody
 * else, and removes expired vector stores. The work is recorded in the store: if a process dies, another continues.
 */
export class DocumentReader implements AsyncDisposable {
  readonly #parts: DocumentReaderParts;
  readonly #closing = new AbortController();
  #wake: (() => void) | undefined;
  #running: Promise<void> | undefined;

  constructor(parts: DocumentReaderParts) {
    this.#parts = parts;
    parts.stores.onWork(() => this.#wake?.());
  }

  start(): void {
    this.#running ??= this.#run();
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#closing.abort(new Error('The reader of documents is closed.'));
    this.#wake?.();
    await this.#running;
  }

  async #run(): Promise<void> {
    const { signal } = this.#closing;
    while (!signal.aborted) {
      try {
        // Another process on this machine may be the one that reads and owns the indexes.
        const { readings, indexes } = this.#parts;
        const user = (await readings.count()) > 0 && indexes.acquireOwnership() ? await this.#takeDueUser() : undefined;
        if (user !== undefined) await this.#takeTurn(user);
        else await this.#waitForWork();
      } catch (thrown) {
        if (signal.aborted) return;
        this.#parts.log.warn({ err: messageOf(thrown) }, 'documents cannot be read right now; retrying');
        await this.#waitForWork();
      }
    }
  }

  async #waitForWork(): Promise<void> {
    const resting = new AbortController();
    this.#wake = () => resting.abort();
    if (this.#closing.signal.aborted) return;
    await sleep(POLL_MS, undefined, { signal: resting.signal, ref: false }).catch(() => {});
    this.#wake = undefined;
  }

  async #takeDueUser(): Promise<string | undefined> {
    const [id] = await this.#parts.readings.takeDue({ limit: 1, leaseMs: LEASE_MS });
    return id;
  }

  /** Reads some files of a user, and sets when the user is due again. */
  async #takeTurn(id: string): Promise<void> {
    const user = decodeURIComponent(id);
    const until = performance.now() + TURN_MS;
    const due = await this.#findUnread(user);
    const { readings } = this.#parts;
    for (let at = 0; at < due.length && performance.now() < until; at += CONCURRENCY) {
      const read = await Promise.allSettled(due.slice(at, at + CONCURRENCY).map((file) => this.#read(user, file)));
      const failed = read.find((one) => one.status === 'rejected');
      if (failed) {
        // The files or their records are unavailable for now, which passes sooner than the lease.
        await readings.schedule(id, { dueInMs: RETRY_MS });
        throw failed.reason;
      }
      this.#closing.signal.throwIfAborted();
    }
    const dueInMs = due.length > 0 ? 0 : await this.#msUntilExpiry(user);
    const before = await readings.get(id);
    await readings.put(id, { before, state: READER_STATE, dueInMs, keepMs: RECHECK_MS });
    // Files that were added while the due time changed must not be forgotten.
    if (due.length === 0 && (await this.#findUnread(user)).length > 0) await readings.schedule(id, { dueInMs: 0 });
  }

  /** Unread files in all vector stores of the user, at most as many as a turn has. */
  async #findUnread(user: string): Promise<StoredFile[]> {
    const found: StoredFile[] = [];
    for await (const store of this.#parts.stores.storesOf(user)) {
      const query = { limit: TURN_FILES, order: 'asc', state: 'in_progress' } as const;
      found.push(...(await this.#parts.stores.listFiles(store.id, query)).files);
      if (found.length >= TURN_FILES) break;
    }
    return found.slice(0, TURN_FILES);
  }

  /** Removes expired vector stores of the user. Returns the milliseconds until the next one expires. */
  async #msUntilExpiry(user: string): Promise<number> {
    const { stores, clock } = this.#parts;
    let remainingMs = RECHECK_MS;
    for await (const store of stores.storesOf(user)) {
      if (isExpired(store, clock.now())) await stores.remove(store);
      else remainingMs = Math.min(remainingMs, (expiryOf(store) ?? Number.POSITIVE_INFINITY) - clock.now());
    }
    return Math.max(0, remainingMs);
  }

  async #read(user: string, file: StoredFile): Promise<void> {
    const { stores, indexes, log } = this.#parts;
    const end = (state: 'completed' | 'failed', error?: StoredFile['error']) =>
      stores.changeFile(file.store, file.id, (known) =>
        known.state === 'in_progress' ? { state, value: error ? { ...known, error } : known } : undefined,
      );
    try {
      await indexes.change({ ask: 'put', store: file.store, file: await this.text(user, file) });
      await end('completed');
    } catch (thrown) {
      if (this.#closing.signal.aborted) throw thrown;
      // The file was detached while it was being read.
      if (thrown instanceof GatewayError && thrown.code === 'not_found' && thrown.param === null) {
        return await indexes.change({ ask: 'remove', store: file.store, paths: [file.id] });
      }
      if (thrown instanceof GatewayError && PASSING.has(thrown.code)) throw thrown;
      const isKnown = thrown instanceof UnreadableDocument;
      if (!isKnown) log.warn({ file: file.id, err: messageOf(thrown) }, 'a document could not be read');
      const message = isKnown || thrown instanceof GatewayError ? thrown.message : 'The file could not be read.';
      await end('failed', { code: isKnown ? thrown.code : 'server_error', message }).catch(() => {});
      // The index may have stored a part of it, for example before the disk was full.
      await indexes.change({ ask: 'remove', store: file.store, paths: [file.id] }).catch(() => {});
    }
  }

  /** Reads a file as input for an index. @throws UnreadableDocument, GatewayError, the signal's reason. */
  async text(
    user: string,
    file: Pick<StoredFile, 'id' | 'name' | 'attributes' | 'version'>,
    { signal = this.#closing.signal }: { signal?: AbortSignal } = {},
  ) {
    const { files, texts } = this.#parts;
    const attached = await files.readAttached(user, file.id, signal);
    if (!attached) throw new UnreadableDocument('invalid_file', 'The file is gone.');
    using _ = attached;
    const { title, text } = await texts.read(attached, signal);
    const { id, name, attributes } = file;
    return { path: id, signature: signatureOf(file), name, title: title || name, text, attributes };
  }
}

/** Error codes that say nothing about a file, which is read again soon. */
const PASSING: ReadonlySet<string> = new Set(['store_unavailable', 'overloaded']);

/** The state of a user in the schedule. It has no meaning. */
const READER_STATE = 'taken';
