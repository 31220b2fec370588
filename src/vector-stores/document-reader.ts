import { setTimeout as sleep } from 'node:timers/promises';
import type { Clock } from '../base/clock.ts';
import { GatewayError, messageOf } from '../base/errors.ts';
import type { Logger } from '../base/logger.ts';
import type { Files } from '../files/files.ts';
import type { DeliveryStore } from '../store/beside/delivery-store.ts';
import { type DocumentTexts, UnreadableDocument } from './document-text.ts';
import type { StoreIndexes } from './index/store-indexes.ts';
import { type StoredFile, signatureOf } from './records.ts';
import { expiryOf, isOver, type VectorStores } from './vector-stores.ts';

export interface DocumentReaderParts {
  stores: VectorStores;
  readings: DeliveryStore;
  files: Files;
  texts: DocumentTexts;
  indexes: StoreIndexes;
  clock: Clock;
  log: Logger;
}

/** How often it is looked whether there is anything to read, in milliseconds. */
const LOOK_MS = 1000;
/** A user's turn: so many files, and none is begun after so long, in milliseconds. */
const TURN_FILES = 8;
const TURN_MS = 2000;
/** For how long a user is this process's. Longer than a turn with its last documents; after a crash, others wait for it. */
const LEASE_MS = 25_000;
/** When a user is looked at again whose files could not be read for now, in milliseconds. */
const AGAIN_MS = 2000;
/** When a user with nothing to read is looked at again, in milliseconds: vector stores expire. */
const REST_MS = 3_600_000;
/** Files that are read beside each other. */
const AT_ONCE = 2;

/**
 * Reads what users put into vector stores, turn by turn so that nobody waits for another one's thousands, and removes
 * stores that have expired. What has to be read stands in the store: another process goes on where one died.
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
        // Another process of this machine may read, and have the indexes.
        const { readings, indexes } = this.#parts;
        const user = (await readings.count()) > 0 && indexes.own() ? await this.#next() : undefined;
        if (user !== undefined) await this.#turn(user);
        else await this.#rest();
      } catch (thrown) {
        if (signal.aborted) return;
        this.#parts.log.warn({ err: messageOf(thrown) }, 'documents cannot be read now; it is tried again');
        await this.#rest();
      }
    }
  }

  async #rest(): Promise<void> {
    const resting = new AbortController();
    this.#wake = () => resting.abort();
    if (this.#closing.signal.aborted) return;
    await sleep(LOOK_MS, undefined, { signal: resting.signal, ref: false }).catch(() => {});
    this.#wake = undefined;
  }

  async #next(): Promise<string | undefined> {
    const [id] = await this.#parts.readings.takeDue({ limit: 1, leaseMs: LEASE_MS });
    return id;
  }

  /** Reads some files of a user, and says when the user is due again. */
  async #turn(id: string): Promise<void> {
    const user = decodeURIComponent(id);
    const until = performance.now() + TURN_MS;
    const due = await this.#open(user);
    const { readings } = this.#parts;
    for (let at = 0; at < due.length && performance.now() < until; at += AT_ONCE) {
      try {
        await Promise.all(due.slice(at, at + AT_ONCE).map((file) => this.#read(user, file)));
      } catch (thrown) {
        // Files or their records cannot be had now, which passes sooner than the lease.
        await readings.expect(id, { dueInMs: AGAIN_MS });
        throw thrown;
      }
      this.#closing.signal.throwIfAborted();
    }
    const wanted = due.length > 0 ? 0 : await this.#untilNext(user);
    const before = await readings.get(id);
    await readings.put(id, { before, state: TAKEN, dueInMs: wanted, keepMs: REST_MS });
    // What came while it was put off is not forgotten.
    if (due.length === 0 && (await this.#open(user)).length > 0) await readings.expect(id, { dueInMs: 0 });
  }

  /** Files that wait, at most as many as fit into a turn, of all vector stores of the user. */
  async #open(user: string): Promise<StoredFile[]> {
    const found: StoredFile[] = [];
    for await (const store of this.#parts.stores.storesOf(user)) {
      const query = { limit: TURN_FILES, order: 'asc', state: 'in_progress' } as const;
      found.push(...(await this.#parts.stores.listFiles(store.id, query)).files);
      if (found.length >= TURN_FILES) break;
    }
    return found.slice(0, TURN_FILES);
  }

  /** Milliseconds until a vector store of the user expires; those that have are removed. */
  async #untilNext(user: string): Promise<number> {
    const { stores, clock } = this.#parts;
    let wanted = REST_MS;
    for await (const store of stores.storesOf(user)) {
      if (isOver(store, clock.now())) await stores.remove(store);
      else wanted = Math.min(wanted, (expiryOf(store) ?? Number.POSITIVE_INFINITY) - clock.now());
    }
    return Math.max(0, wanted);
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
      // It was taken out while it was read.
      if (thrown instanceof GatewayError && thrown.code === 'not_found' && thrown.param === null) {
        return await indexes.change({ ask: 'remove', store: file.store, paths: [file.id] });
      }
      if (thrown instanceof GatewayError && thrown.code === 'store_unavailable') throw thrown;
      const isKnown = thrown instanceof UnreadableDocument;
      if (!isKnown) log.warn({ file: file.id, err: messageOf(thrown) }, 'a document could not be read');
      const message = isKnown || thrown instanceof GatewayError ? thrown.message : 'The file could not be read.';
      await end('failed', { code: isKnown ? thrown.code : 'server_error', message }).catch(() => {});
      // Nothing of it stays where the index took a part, such as on a full disk.
      await indexes.change({ ask: 'remove', store: file.store, paths: [file.id] }).catch(() => {});
    }
  }

  /** A file as an index takes it. @throws UnreadableDocument, GatewayError. */
  async text(user: string, file: Pick<StoredFile, 'id' | 'name' | 'attributes' | 'version'>) {
    const { files, texts } = this.#parts;
    const { signal } = this.#closing;
    const attached = await files.attached(user, file.id, signal);
    if (!attached) throw new UnreadableDocument('invalid_file', 'The file is not there any more.');
    using _ = attached;
    const { title, text } = await texts.read(attached, signal);
    const { id, name, attributes } = file;
    return { path: id, signature: signatureOf(file), name, title: title || name, text, attributes };
  }
}

/** What stands beside a user: nothing is counted. */
const TAKEN = 'taken';
