import { mkdirSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { abortable } from '../../base/abort.ts';
import { GatewayError } from '../../base/errors.ts';
import type { Logger } from '../../base/logger.ts';
import { makeTemporaryFolder } from '../../base/temporary-folder.ts';
import { lockIndex } from '../../tools/web-search/local/index-database.ts';
import { type QueryFailure, QueryThread } from '../../tools/web-search/local/query-thread.ts';
import type { Embeddings } from '../../tools/web-search/search-provider.ts';
import {
  type IndexHit,
  type IndexProgress,
  type IndexRequest,
  type IndexResponse,
  type IndexSettings,
  type IndexState,
  type IndexThreadData,
  isInMemory,
} from './messages.ts';

export interface StoreIndexesOptions {
  /** Folder of the indexes; if absent, a temporary one for the life of the process. */
  folder: string | undefined;
  /** The embeddings with which passages are also found by meaning, as configured now. */
  embeddings(): Embeddings | undefined;
  log: Logger;
}

/** Most pending requests of a thread. */
const MAX_WAITING = 256;

/** When a search that needs room on a full disk is retried, in milliseconds. */
const FULL_RETRY_MS = 2000;

type IndexThread = QueryThread<IndexRequest & { settings: IndexSettings }, IndexResponse>;

/**
 * The indexes of vector stores on this machine. Of the processes that share them one writes, in its own thread; each
 * process searches in another thread, so that searches never wait for writes.
 */
export class StoreIndexes implements Disposable {
  readonly #embeddings: () => Embeddings | undefined;
  readonly #log: Logger;
  readonly #folder: string;
  readonly #temporaryFolder: string | undefined;
  readonly #searchThread: IndexThread;
  readonly #writeThread: IndexThread;
  #ownership: Disposable | undefined;

  constructor({ folder, embeddings, log }: StoreIndexesOptions) {
    this.#embeddings = embeddings;
    this.#log = log;
    this.#temporaryFolder = folder === undefined ? makeTemporaryFolder('indexes') : undefined;
    this.#folder = folder ?? this.#temporaryFolder ?? '';
    this.#searchThread = this.#openThread({ writes: false });
    this.#writeThread = this.#openThread({ writes: true });
  }

  get folder(): string {
    return this.#folder;
  }

  /** Whether this process writes the indexes. */
  get isOwner(): boolean {
    return this.#ownership !== undefined;
  }

  /**
   * Becomes the writer unless another process is; whether it is. @throws the system's error if the folder is unusable.
   */
  acquireOwnership(): boolean {
    if (this.#ownership) return true;
    mkdirSync(this.#folder, { recursive: true, mode: 0o700 });
    this.#ownership = lockIndex(join(this.#folder, 'owner'));
    return this.#ownership !== undefined;
  }

  /** The content of an index, or of one file in it; only for the owner. */
  async state(store: string, path?: string): Promise<IndexState> {
    const state = await this.#send(this.#writeThread, { ask: 'state', store, ...(path !== undefined && { path }) });
    return state instanceof Map ? state : new Map();
  }

  async progress(store: string): Promise<IndexProgress> {
    const progress = await this.#read({ ask: 'progress', store });
    return progress && 'documents' in progress ? progress : { documents: 0 };
  }

  async search(
    question: Omit<Extract<IndexRequest, { ask: 'search' }>, 'ask'>,
    signal: AbortSignal,
  ): Promise<IndexHit[]> {
    const { store } = question;
    // Computes vectors of passages that lack one.
    const wantsVectors = this.isOwner && this.#embeddings() !== undefined && !isInMemory(store);
    if (wantsVectors) this.#send(this.#writeThread, { ask: 'open', store }).catch(() => {});
    const hits = await abortable(this.#read({ ask: 'search', ...question }), signal);
    return Array.isArray(hits) ? hits : [];
  }

  /** Changes or drops an index; only for the owner, unless the index is in memory. */
  async change(question: Exclude<IndexRequest, { ask: 'state' | 'progress' | 'search' | 'open' }>): Promise<void> {
    if (isInMemory(question.store)) {
      // A thread that was never started has nothing to drop.
      if (question.ask !== 'drop' || this.#searchThread.hasStarted) await this.#send(this.#searchThread, question);
      return;
    }
    await this.#send(this.#writeThread, question);
    // A removed file stays on the disk while a thread has it open.
    if (question.ask === 'drop' && this.#searchThread.hasStarted) await this.#send(this.#searchThread, question);
  }

  [Symbol.dispose](): void {
    this.#searchThread[Symbol.dispose]();
    this.#writeThread[Symbol.dispose]();
    this.#ownership?.[Symbol.dispose]();
    if (this.#temporaryFolder !== undefined) rmSync(this.#temporaryFolder, { recursive: true, force: true });
  }

  #openThread({ writes }: { writes: boolean }): IndexThread {
    return new QueryThread({
      entry: new URL('./index-thread.ts', import.meta.url),
      data: { folder: this.#folder, writes } satisfies IndexThreadData,
      maxPending: MAX_WAITING,
      embeddings: this.#embeddings,
      log: this.#log,
      where: { indexes: this.#folder },
      failure: (why, reason) => this.#failure(why, reason),
    });
  }

  #failure(why: QueryFailure, reason = 'it broke down'): GatewayError {
    if (why === 'closed') return new GatewayError('shutting_down', 'The gateway is shutting down.');
    if (why === 'too many') return new GatewayError('overloaded', 'Too many searches in vector stores are under way.');
    if (why === 'refused') this.#log.warn({ err: reason }, 'an index of a vector store cannot be used');
    return new GatewayError('internal_error', 'The index of this vector store cannot be used.', { cause: reason });
  }

  /**
   * Asks the search thread, and retries once if that fails, because an index may be closed or replaced meanwhile. If
   * this process writes, its writer rebuilds an index that cannot be read.
   */
  async #read(question: IndexRequest): Promise<IndexResponse> {
    try {
      return await this.#send(this.#searchThread, question);
    } catch (thrown) {
      const { store } = question;
      const isBroken = thrown instanceof GatewayError && thrown.code === 'internal_error';
      if (!isBroken || isInMemory(store)) throw thrown;
      try {
        if (this.isOwner) await this.#send(this.#writeThread, { ask: 'open', store });
        return await this.#send(this.#searchThread, question);
      } catch (again) {
        throw isFull(again) ? noRoom(again) : again;
      }
    }
  }

  #send(thread: IndexThread, question: IndexRequest): Promise<IndexResponse> {
    const owner = thread === this.#writeThread && this.isOwner;
    return thread.ask({ ...question, settings: { owner, embeddingModel: this.#embeddings()?.model } });
  }
}

/** Whether SQLite says that the disk is full, in the words that a thread passes on. */
function isFull(thrown: unknown): thrown is GatewayError {
  return thrown instanceof GatewayError && thrown.cause === 'database or disk is full';
}

function noRoom(cause: GatewayError): GatewayError {
  const message = 'The index of this vector store cannot be made: the disk is full.';
  return new GatewayError('store_unavailable', message, { retryAfterMs: FULL_RETRY_MS, cause });
}
