import { mkdirSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { abortable } from '../../base/abort.ts';
import { GatewayError } from '../../base/errors.ts';
import type { Logger } from '../../base/logger.ts';
import { embedTexts } from '../../tools/web-search/local/embed-texts.ts';
import { lockIndex } from '../../tools/web-search/local/index-database.ts';
import type { EmbedRequest } from '../../tools/web-search/local/search-messages.ts';
import type { Embeddings } from '../../tools/web-search/search-provider.ts';
import { AskedThread } from './asked-thread.ts';
import {
  type AskedOfIndex,
  type IndexAnswer,
  type IndexHit,
  type IndexProgress,
  type IndexState,
  isInMemory,
} from './messages.ts';

export interface StoreIndexesOptions {
  /** Where they are kept; absent: for as long as the process lives. */
  folder: string | undefined;
  /** What finds by meaning beside the words, as configured now. */
  embeddings(): Embeddings | undefined;
  log: Logger;
}

/**
 * The indexes of vector stores on this machine. Of the processes that share them one writes, in a thread of its own;
 * each searches in another thread, so that nobody who searches waits for what goes in.
 */
export class StoreIndexes implements Disposable {
  readonly #embeddings: () => Embeddings | undefined;
  readonly #log: Logger;
  readonly #folder: string;
  readonly #temporary: string | undefined;
  readonly #closing = new AbortController();
  readonly #reading: AskedThread;
  readonly #writing: AskedThread;
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
    return state && 'files' in state ? state : { files: new Map() };
  }

  async progress(store: string): Promise<IndexProgress> {
    const progress = await this.#read({ ask: 'progress', store });
    return progress && 'documents' in progress ? progress : { documents: 0 };
  }

  async search(
    question: Omit<Extract<AskedOfIndex, { ask: 'search' }>, 'ask'>,
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
  async change(question: Exclude<AskedOfIndex, { ask: 'state' | 'progress' | 'search' | 'open' }>): Promise<void> {
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
    this.#closing.abort(new Error('The indexes of vector stores are closed.'));
    this.#reading[Symbol.dispose]();
    this.#writing[Symbol.dispose]();
    this.#ownership?.[Symbol.dispose]();
    if (this.#temporary !== undefined) rmSync(this.#temporary, { recursive: true, force: true });
  }

  #thread({ writes }: { writes: boolean }): AskedThread {
    return new AskedThread({
      folder: this.#folder,
      writes,
      settings: () => ({ owner: writes && this.isOwner, embeddingModel: this.#embeddings()?.model }),
      embed: (request) => this.#embed(request),
      log: this.#log,
    });
  }

  /**
   * Asks what searches, once more where that failed: an index may be closed or replaced meanwhile. One that cannot be read
   * is made anew by who writes, if that is this process.
   */
  async #read(question: AskedOfIndex): Promise<IndexAnswer> {
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

  #ask(thread: AskedThread, question: AskedOfIndex): Promise<IndexAnswer> {
    if (this.#closing.signal.aborted)
      return Promise.reject(new GatewayError('shutting_down', 'The gateway is shutting down.'));
    return thread.ask(question);
  }

  #embed(request: EmbedRequest) {
    const asked = { embeddings: this.#embeddings(), log: this.#log, where: { indexes: this.#folder } };
    return embedTexts(request, asked, this.#closing.signal);
  }
}
