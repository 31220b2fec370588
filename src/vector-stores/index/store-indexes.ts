import { mkdirSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { abortable } from '../../base/abort.ts';
import { GatewayError } from '../../base/errors.ts';
import type { Logger } from '../../base/logger.ts';
import { AskedThread, type NoAnswer } from '../../tools/web-search/local/asked-thread.ts';
import { lockIndex } from '../../tools/web-search/local/index-database.ts';
import type { Embeddings } from '../../tools/web-search/search-provider.ts';
import {
  type IndexAnswer,
  type IndexHit,
  type IndexProgress,
  type IndexQuestion,
  type IndexSettings,
  type IndexState,
  type IndexThreadData,
  isInMemory,
} from './messages.ts';

export interface StoreIndexesOptions {
  /** Where they are kept; absent: for as long as the process lives. */
  folder: string | undefined;
  /** What finds by meaning beside the words, as configured now. */
  embeddings(): Embeddings | undefined;
  log: Logger;
}

/** Questions under way at once in a thread, at most. */
const MAX_WAITING = 256;

type IndexThread = AskedThread<IndexQuestion & { settings: IndexSettings }, IndexAnswer>;

/**
 * The indexes of vector stores on this machine. Of the processes that share them one writes, in a thread of its own;
 * each searches in another thread, so that nobody who searches waits for what goes in.
 */
export class StoreIndexes implements Disposable {
  readonly #embeddings: () => Embeddings | undefined;
  readonly #log: Logger;
  readonly #folder: string;
  readonly #temporary: string | undefined;
  readonly #reading: IndexThread;
  readonly #writing: IndexThread;
  #ownership: Disposable | undefined;

  constructor({ folder, embeddings, log }: StoreIndexesOptions) {
    this.#embeddings = embeddings;
    this.#log = log;
    this.#temporary = folder === undefined ? mkdtempSync(join(tmpdir(), 'research-gateway-indexes-')) : undefined;
    this.#folder = folder ?? this.#temporary ?? '';
    this.#reading = this.#thread({ writes: false });
    this.#writing = this.#thread({ writes: true });
  }

  /** Where they lie. */
  get folder(): string {
    return this.#folder;
  }

  /** Whether this process writes. */
  get isOwner(): boolean {
    return this.#ownership !== undefined;
  }

  /** Whether this process writes, if need be from now on: it does once no other one does. @throws the system's error where the folder cannot be used. */
  own(): boolean {
    if (this.#ownership) return true;
    mkdirSync(this.#folder, { recursive: true, mode: 0o700 });
    this.#ownership = lockIndex(join(this.#folder, 'owner'));
    return this.#ownership !== undefined;
  }

  /** What an index holds, or what it has of one file; only for the owner. */
  async state(store: string, path?: string): Promise<IndexState> {
    const state = await this.#ask(this.#writing, { ask: 'state', store, ...(path !== undefined && { path }) });
    return state instanceof Map ? state : new Map();
  }

  async progress(store: string): Promise<IndexProgress> {
    const progress = await this.#read({ ask: 'progress', store });
    return progress && 'documents' in progress ? progress : { documents: 0 };
  }

  async search(
    question: Omit<Extract<IndexQuestion, { ask: 'search' }>, 'ask'>,
    signal: AbortSignal,
  ): Promise<IndexHit[]> {
    const { store } = question;
    // Passages that have no vector yet get one.
    const wantsVectors = this.isOwner && this.#embeddings() !== undefined && !isInMemory(store);
    if (wantsVectors) this.#ask(this.#writing, { ask: 'open', store }).catch(() => {});
    const hits = await abortable(this.#read({ ask: 'search', ...question }), signal);
    return Array.isArray(hits) ? hits : [];
  }

  /** Puts in, takes out or removes; only for the owner, unless the index lies in memory. */
  async change(question: Exclude<IndexQuestion, { ask: 'state' | 'progress' | 'search' | 'open' }>): Promise<void> {
    if (isInMemory(question.store)) {
      // There is nothing to be taken out of a thread that nobody has asked yet.
      if (question.ask !== 'drop' || this.#reading.hasStarted) await this.#ask(this.#reading, question);
      return;
    }
    await this.#ask(this.#writing, question);
    // What was removed stays on the disk for as long as somebody has it open.
    if (question.ask === 'drop' && this.#reading.hasStarted) await this.#ask(this.#reading, question);
  }

  [Symbol.dispose](): void {
    this.#reading[Symbol.dispose]();
    this.#writing[Symbol.dispose]();
    this.#ownership?.[Symbol.dispose]();
    if (this.#temporary !== undefined) rmSync(this.#temporary, { recursive: true, force: true });
  }

  #thread({ writes }: { writes: boolean }): IndexThread {
    return new AskedThread({
      entry: new URL('./index-thread.ts', import.meta.url),
      data: { folder: this.#folder, writes } satisfies IndexThreadData,
      mostWaiting: MAX_WAITING,
      embeddings: this.#embeddings,
      log: this.#log,
      where: { indexes: this.#folder },
      failure: (why, reason) => this.#failure(why, reason),
    });
  }

  #failure(why: NoAnswer, reason = 'it broke down'): GatewayError {
    if (why === 'closed') return new GatewayError('shutting_down', 'The gateway is shutting down.');
    if (why === 'too many') return new GatewayError('overloaded', 'Too many searches in vector stores are under way.');
    if (why === 'refused') this.#log.warn({ err: reason }, 'an index of a vector store cannot be used');
    return new GatewayError('internal_error', 'The index of this vector store cannot be used.', { cause: reason });
  }

  /**
   * Asks what searches, once more where that failed: an index may be closed or replaced meanwhile. One that cannot be read
   * is made anew by who writes, if that is this process.
   */
  async #read(question: IndexQuestion): Promise<IndexAnswer> {
    try {
      return await this.#ask(this.#reading, question);
    } catch (thrown) {
      const { store } = question;
      const isBroken = thrown instanceof GatewayError && thrown.code === 'internal_error';
      if (!isBroken || isInMemory(store)) throw thrown;
      if (this.isOwner) await this.#ask(this.#writing, { ask: 'open', store });
      return await this.#ask(this.#reading, question);
    }
  }

  #ask(thread: IndexThread, question: IndexQuestion): Promise<IndexAnswer> {
    const owner = thread === this.#writing && this.isOwner;
    return thread.ask({ ...question, settings: { owner, embeddingModel: this.#embeddings()?.model } });
  }
}
