import { mkdirSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Worker } from 'node:worker_threads';
import { abortable } from '../../base/abort.ts';
import { GatewayError } from '../../base/errors.ts';
import type { Logger } from '../../base/logger.ts';
import { lockIndex } from '../../tools/web-search/local/index-database.ts';
import type { IndexAnswer, IndexHit, IndexProgress, IndexQuestion, IndexReply, IndexState } from './messages.ts';

/** The heap of the thread, in MiB. The indexes lie outside of it, in SQLite's memory. */
const HEAP_MB = 512;
/** Questions under way at once, at most. */
const MAX_WAITING = 256;

/** A question without its number. */
type Asked = IndexQuestion extends infer Q ? (Q extends { id: number } ? Omit<Q, 'id'> : never) : never;

/** The indexes of vector stores on this machine, in a thread of their own. Of the processes that share them one writes. */
export class StoreIndexes implements Disposable {
  readonly #log: Logger;
  readonly #folder: string;
  readonly #temporary: string | undefined;
  readonly #waiting = new Map<number, PromiseWithResolvers<IndexAnswer>>();
  #thread: Worker | undefined;
  #ownership: Disposable | undefined;
  #lastId = 0;
  #isClosed = false;

  /** `folder`: where they are kept; absent: for as long as the process lives. */
  constructor({ folder, log }: { folder: string | undefined; log: Logger }) {
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
    if (this.#ownership) this.#thread?.postMessage({ owner: true });
    return this.#ownership !== undefined;
  }

  async state(store: string): Promise<IndexState> {
    const state = await this.#ask({ ask: 'state', store });
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
    this.#isClosed = true;
    void this.#thread?.terminate();
    this.#ownership?.[Symbol.dispose]();
    if (this.#temporary !== undefined) rmSync(this.#temporary, { recursive: true, force: true });
  }

  /** @throws GatewayError `overloaded`, `internal_error` where the index cannot be used. */
  #ask(question: Asked): Promise<IndexAnswer> {
    if (this.#isClosed) return Promise.reject(new GatewayError('shutting_down', 'The gateway is shutting down.'));
    if (this.#waiting.size >= MAX_WAITING) {
      return Promise.reject(new GatewayError('overloaded', 'Too many searches in vector stores are under way.'));
    }
    const id = ++this.#lastId;
    const answered = Promise.withResolvers<IndexAnswer>();
    this.#waiting.set(id, answered);
    this.#thread ??= this.#start();
    this.#thread.ref();
    this.#thread.postMessage({ id, ...question });
    return answered.promise;
  }

  #start(): Worker {
    const thread = new Worker(new URL('./index-thread.ts', import.meta.url), {
      workerData: { folder: this.#folder, owner: this.#ownership !== undefined },
      env: {},
      resourceLimits: { maxOldGenerationSizeMb: HEAP_MB },
    });
    const gone = () => {
      if (this.#thread === thread) this.#thread = undefined;
      for (const { reject } of this.#waiting.values()) reject(broken('it broke down'));
      this.#waiting.clear();
    };
    thread.on('message', (reply: IndexReply) => this.#answered(reply));
    thread.once('error', gone);
    thread.once('exit', gone);
    // A thread that nobody waits for does not keep the process alive.
    thread.unref();
    return thread;
  }

  #answered(reply: IndexReply): void {
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
