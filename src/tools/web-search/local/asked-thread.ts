import { Worker } from 'node:worker_threads';
import { threadVariables } from '../../../base/compile-cache.ts';
import type { Logger } from '../../../base/logger.ts';
import type { Embeddings } from '../search-provider.ts';
import { embedTexts } from './embed-texts.ts';
import type { ThreadReply } from './search-messages.ts';

/** The heap of a thread, in MiB. Indexes lie outside of it, in SQLite's memory. */
const HEAP_MB = 512;

/** Why a question has no answer: too many are asked, nobody answers any more, or the thread cannot. */
export type NoAnswer = 'too many' | 'closed' | 'broken' | 'refused';

export interface AskedThreadOptions {
  /** The module that the thread runs, and what it begins with. */
  entry: URL;
  data: object;
  /** Questions under way at once, at most. */
  mostWaiting: number;
  /** Where the thread gets vectors from, as configured now. */
  embeddings(): Embeddings | undefined;
  log: Logger | undefined;
  /** Stands in lines of the log. */
  where: object;
  /** What those who asked get; `reason` is what the thread said. */
  failure(why: NoAnswer, reason?: string): Error;
}

/** A thread of indexes and what it is asked. It starts with the first question, and again after it broke down. */
export class AskedThread<Question extends object, Answer> implements Disposable {
  readonly #options: AskedThreadOptions;
  readonly #waiting = new Map<number, PromiseWithResolvers<Answer>>();
  readonly #closing = new AbortController();
  #thread: Worker | undefined;
  #lastId = 0;

  constructor(options: AskedThreadOptions) {
    this.#options = options;
  }

  get hasStarted(): boolean {
    return this.#thread !== undefined;
  }

  /** @throws what `failure` makes. */
  async ask(question: Question): Promise<Answer> {
    const { failure, mostWaiting } = this.#options;
    if (this.#closing.signal.aborted) throw failure('closed');
    if (this.#waiting.size >= mostWaiting) throw failure('too many');
    const id = ++this.#lastId;
    const answered = Promise.withResolvers<Answer>();
    this.#waiting.set(id, answered);
    this.#thread ??= this.#start();
    this.#thread.ref();
    this.#thread.postMessage({ id, ...question });
    return await answered.promise;
  }

  [Symbol.dispose](): void {
    this.#closing.abort(this.#options.failure('closed'));
    void this.#thread?.terminate();
  }

  #start(): Worker {
    const { entry, data, failure } = this.#options;
    const thread = new Worker(entry, {
      workerData: data,
      env: threadVariables(),
      resourceLimits: { maxOldGenerationSizeMb: HEAP_MB },
    });
    const gone = () => {
      // One that breaks down ends a little later: what was asked since is for the next.
      if (this.#thread !== thread) return;
      this.#thread = undefined;
      for (const { reject } of this.#waiting.values()) reject(failure('broken'));
      this.#waiting.clear();
    };
    thread.on('message', (reply: ThreadReply<Answer>) => this.#take(reply, thread));
    thread.once('error', gone);
    thread.once('exit', gone);
    // A thread that nobody waits for does not keep the process alive.
    thread.unref();
    return thread;
  }

  #take(reply: ThreadReply<Answer>, thread: Worker): void {
    const { failure, embeddings, log, where } = this.#options;
    if ('trouble' in reply) {
      log?.warn(where, reply.trouble);
      return;
    }
    if ('texts' in reply) {
      const asked = { embeddings: embeddings(), log, where };
      void embedTexts(reply, asked, this.#closing.signal).then((texts) => thread.postMessage(texts));
      return;
    }
    const question = this.#waiting.get(reply.id);
    this.#waiting.delete(reply.id);
    if (this.#waiting.size === 0) this.#thread?.unref();
    if ('value' in reply) question?.resolve(reply.value);
    else question?.reject(failure('refused', reply.error));
  }
}
