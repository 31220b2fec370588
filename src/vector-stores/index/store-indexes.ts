import { mkdirSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Worker } from 'node:worker_threads';
import { abortable } from '../../base/abort.ts';
import { GatewayError } from '../../base/errors.ts';
import type { Logger } from '../../base/logger.ts';
import { embedTexts } from '../../tools/web-search/local/embed-texts.ts';
import { lockIndex } from '../../tools/web-search/local/index-database.ts';
import type { EmbedRequest } from '../../tools/web-search/local/search-messages.ts';
import type { Embeddings } from '../../tools/web-search/search-provider.ts';
import type {
  IndexAnswer,
  IndexAnswered,
  IndexHit,
  IndexProgress,
  IndexQuestion,
  IndexReply,
  IndexSettings,
  IndexState,
} from './messages.ts';

/** The heap of the thread, in MiB. The indexes lie outside of it, in SQLite's memory. */
const HEAP_MB = 512;
/** Questions under way at once, at most. */
const MAX_WAITING = 256;

/** A question without its number. */
type Asked = IndexQuestion extends infer Q ? (Q extends { id: number } ? Omit<Q, 'id'> : never) : never;

export interface StoreIndexesOptions {
  /** Where they are kept; absent: for as long as the process lives. */
  folder: string | undefined;
  /** What finds by meaning beside the words, as configured now. */
  embeddings(): Embeddings | undefined;
  log: Logger;
}

/** The indexes of vector stores on this machine, in a thread of their own. Of the processes that share them one writes. */
export class StoreIndexes implements Disposable {
  readonly #embeddings: () => Embeddings | undefined;
  readonly #log: Logger;
  readonly #folder: string;
  readonly #temporary: string | undefined;
  readonly #waiting = new Map<number, PromiseWithResolvers<IndexAnswer>>();
  readonly #closing = new AbortController();
  #thread: Worker | undefined;
  /** What the thread knows of. */
  #settings: IndexSettings | undefined;
  #ownership: Disposable | undefined;
  #lastId = 0;

  constructor({ folder, embeddings, log }: StoreIndexesOptions) {
    this.#embeddings = embeddings;
    this.#log = log;
    this.#temporary = folder === undefined ? mkdtempSync(join(tmpdir(), 'research-gateway-indexes-')) : undefined;
    this.#folder = folder ?? this.#temporary ?? '';
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

  /** What an index holds, or what it has of one file. */
  async state(store: string, path?: string): Promise<IndexState> {
    const state = await this.#ask({ ask: 'state', store, ...(path !== undefined && { path }) });
    return state && 'files' in state ? state : { files: new Map() };
  }

  async progress(store: string): Promise<IndexProgress> {
    const progress = await this.#ask({ ask: 'progress', store });
    return progress && 'documents' in progress ? progress : { documents: 0 };
  }

  async search(question: Omit<Extract<Asked, { ask: 'search' }>, 'ask'>, signal: AbortSignal): Promise<IndexHit[]> {
    const hits = await abortable(this.#ask({ ask: 'search', ...question }), signal);
    return Array.isArray(hits) ? hits : [];
  }

  /** Puts in, takes out or removes; only for the owner. */
  async change(question: Exclude<Asked, { ask: 'state' | 'progress' | 'search' }>): Promise<void> {
    await this.#ask(question);
  }

  [Symbol.dispose](): void {
    this.#closing.abort(new Error('The indexes of vector stores are closed.'));
    void this.#thread?.terminate();
    this.#ownership?.[Symbol.dispose]();
    if (this.#temporary !== undefined) rmSync(this.#temporary, { recursive: true, force: true });
  }

  /** @throws GatewayError `overloaded`, `internal_error` where the index cannot be used. */
  #ask(question: Asked): Promise<IndexAnswer> {
    if (this.#closing.signal.aborted)
      return Promise.reject(new GatewayError('shutting_down', 'The gateway is shutting down.'));
    if (this.#waiting.size >= MAX_WAITING) {
      return Promise.reject(new GatewayError('overloaded', 'Too many searches in vector stores are under way.'));
    }
    const id = ++this.#lastId;
    const answered = Promise.withResolvers<IndexAnswer>();
    this.#waiting.set(id, answered);
    const thread = this.#current();
    thread.ref();
    thread.postMessage({ id, ...question });
    return answered.promise;
  }

  /** The thread, with the settings of now. */
  #current(): Worker {
    const settings = { owner: this.#ownership !== undefined, embeddingModel: this.#embeddings()?.model };
    const known = this.#settings;
    this.#settings = settings;
    if (!this.#thread) return this.#start(settings);
    if (known?.owner !== settings.owner || known.embeddingModel !== settings.embeddingModel)
      this.#thread.postMessage(settings);
    return this.#thread;
  }

  #start(settings: IndexSettings): Worker {
    const thread = new Worker(new URL('./index-thread.ts', import.meta.url), {
      workerData: { folder: this.#folder, ...settings },
      env: {},
      resourceLimits: { maxOldGenerationSizeMb: HEAP_MB },
    });
    const gone = () => {
      if (this.#thread === thread) this.#thread = undefined;
      for (const { reject } of this.#waiting.values()) reject(broken('it broke down'));
      this.#waiting.clear();
    };
    thread.on('message', (reply: IndexReply) => {
      if ('type' in reply) void this.#embed(reply, thread);
      else this.#answered(reply);
    });
    thread.once('error', gone);
    thread.once('exit', gone);
    // A thread that nobody waits for does not keep the process alive.
    thread.unref();
    this.#thread = thread;
    return thread;
  }

  async #embed(request: EmbedRequest, thread: Worker): Promise<void> {
    const asked = { embeddings: this.#embeddings(), log: this.#log, where: { indexes: this.#folder } };
    thread.postMessage(await embedTexts(request, asked, this.#closing.signal));
  }

  #answered(reply: IndexAnswered): void {
    const question = this.#waiting.get(reply.id);
    this.#waiting.delete(reply.id);
    if (this.#waiting.size === 0) this.#thread?.unref();
    if ('value' in reply) {
      question?.resolve(reply.value);
      return;
    }
    this.#log.warn({ err: reply.error }, 'an index of a vector store cannot be used');
    question?.reject(broken(reply.error));
  }
}

function broken(reason: string): GatewayError {
  return new GatewayError('internal_error', 'The index of this vector store cannot be used.', { cause: reason });
}
