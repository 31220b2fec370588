import { Worker } from 'node:worker_threads';
import { workerThreadEnv } from '../../../base/compile-cache.ts';
import type { Logger } from '../../../base/logger.ts';
import type { Embeddings } from '../search-provider.ts';
import { embedTexts } from './embed-texts.ts';
import type { ThreadReply } from './search-messages.ts';

/** The heap of a thread, in MiB. Indexes are outside of it, in SQLite's memory. */
const HEAP_MB = 512;

/** Why a query failed: too many are pending, the owner was disposed of, the thread crashed, or it answered with an error. */
export type QueryFailure = 'too many' | 'closed' | 'broken' | 'refused';

export interface QueryThreadOptions {
  /** The module that the thread runs, and its `workerData`. */
  entry: URL;
  data: object;
  maxPending: number;
  /** The currently configured embeddings, which the thread gets vectors from. */
  embeddings(): Embeddings | undefined;
  log: Logger | undefined;
  /** Fields for log lines. */
  where: object;
  /** Makes the error that callers get; `reason` is the thread's message. */
  failure(why: QueryFailure, reason?: string): Error;
}

/** A worker thread that holds indexes and answers queries. It starts with the first query, and again after a crash. */
export class QueryThread<Query extends object, Answer> implements Disposable {
  readonly #options: QueryThreadOptions;
  readonly #pending = new Map<number, PromiseWithResolvers<Answer>>();
  readonly #closing = new AbortController();
  #thread: Worker | undefined;
  #lastId = 0;

  constructor(options: QueryThreadOptions) {
    this.#options = options;
  }

  get hasStarted(): boolean {
    return this.#thread !== undefined;
  }

  /** @throws what `failure` makes. */
  async ask(query: Query): Promise<Answer> {
    const { failure, maxPending } = this.#options;
    if (this.#closing.signal.aborted) throw failure('closed');
    if (this.#pending.size >= maxPending) throw failure('too many');
    const id = ++this.#lastId;
    const answer = Promise.withResolvers<Answer>();
    this.#pending.set(id, answer);
    this.#thread ??= this.#start();
    this.#thread.ref();
    this.#thread.postMessage({ id, ...query });
    return await answer.promise;
  }

  [Symbol.dispose](): void {
    this.#closing.abort(this.#options.failure('closed'));
    void this.#thread?.terminate();
  }

  #start(): Worker {
    const { entry, data, failure } = this.#options;
    const thread = new Worker(entry, {
      workerData: data,
      env: workerThreadEnv(),
      resourceLimits: { maxOldGenerationSizeMb: HEAP_MB },
    });
    const onGone = () => {
      // A crashed thread exits a little later; queries sent meanwhile belong to the next one.
      if (this.#thread !== thread) return;
      this.#thread = undefined;
      for (const { reject } of this.#pending.values()) reject(failure('broken'));
      this.#pending.clear();
    };
    thread.on('message', (reply: ThreadReply<Answer>) => this.#onReply(reply, thread));
    thread.once('error', onGone);
    thread.once('exit', onGone);
    // A thread without pending queries does not keep the process alive.
    thread.unref();
    return thread;
  }

  #onReply(reply: ThreadReply<Answer>, thread: Worker): void {
    const { failure, embeddings, log, where } = this.#options;
    if ('trouble' in reply) {
      log?.warn(where, reply.trouble);
      return;
    }
    if ('texts' in reply) {
      const options = { embeddings: embeddings(), log, where };
      void embedTexts(reply, options, this.#closing.signal).then((vectors) => thread.postMessage(vectors));
      return;
    }
    const query = this.#pending.get(reply.id);
    this.#pending.delete(reply.id);
    if (this.#pending.size === 0) this.#thread?.unref();
    if ('value' in reply) query?.resolve(reply.value);
    else query?.reject(failure('refused', reply.error));
  }
}
