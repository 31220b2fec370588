import { Worker } from 'node:worker_threads';
import { threadVariables } from '../../base/compile-cache.ts';
import { GatewayError } from '../../base/errors.ts';
import type { Logger } from '../../base/logger.ts';
import type { EmbeddedTexts, EmbedRequest } from '../../tools/web-search/local/search-messages.ts';
import type {
  AskedOfIndex,
  IndexAnswer,
  IndexAnswered,
  IndexReply,
  IndexSettings,
  IndexThreadData,
} from './messages.ts';

/** The heap of the thread, in MiB. The indexes lie outside of it, in SQLite's memory. */
const HEAP_MB = 512;
/** Questions under way at once, at most. */
const MAX_WAITING = 256;

export interface AskedThreadOptions {
  folder: string;
  writes: boolean;
  /** How it works now. */
  settings(): IndexSettings;
  embed(request: EmbedRequest): Promise<EmbeddedTexts>;
  log: Logger;
}

/** A thread of the indexes and what it is asked. It starts with the first question, and anew where it broke down. */
export class AskedThread implements Disposable {
  readonly #options: AskedThreadOptions;
  readonly #waiting = new Map<number, PromiseWithResolvers<IndexAnswer>>();
  #thread: Worker | undefined;
  /** What the thread knows of. */
  #settings: IndexSettings | undefined;
  #lastId = 0;

  constructor(options: AskedThreadOptions) {
    this.#options = options;
  }

  get hasStarted(): boolean {
    return this.#thread !== undefined;
  }

  /** @throws GatewayError `overloaded`, `internal_error` where the index cannot be used. */
  ask(question: AskedOfIndex): Promise<IndexAnswer> {
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

  [Symbol.dispose](): void {
    void this.#thread?.terminate();
  }

  /** The thread, with the settings of now. */
  #current(): Worker {
    const settings = this.#options.settings();
    const known = this.#settings;
    this.#settings = settings;
    if (!this.#thread) return this.#start(settings);
    if (known?.owner !== settings.owner || known.embeddingModel !== settings.embeddingModel)
      this.#thread.postMessage(settings);
    return this.#thread;
  }

  #start(settings: IndexSettings): Worker {
    const { folder, writes, embed } = this.#options;
    const thread = new Worker(new URL('./index-thread.ts', import.meta.url), {
      workerData: { folder, writes, settings } satisfies IndexThreadData,
      env: threadVariables(),
      resourceLimits: { maxOldGenerationSizeMb: HEAP_MB },
    });
    const gone = () => {
      if (this.#thread === thread) this.#thread = undefined;
      for (const { reject } of this.#waiting.values()) reject(broken('it broke down'));
      this.#waiting.clear();
    };
    thread.on('message', (reply: IndexReply) => {
      if ('type' in reply) void embed(reply).then((texts) => thread.postMessage(texts));
      else this.#answered(reply);
    });
    thread.once('error', gone);
    thread.once('exit', gone);
    // A thread that nobody waits for does not keep the process alive.
    thread.unref();
    this.#thread = thread;
    return thread;
  }

  #answered(reply: IndexAnswered): void {
    const question = this.#waiting.get(reply.id);
    this.#waiting.delete(reply.id);
    if (this.#waiting.size === 0) this.#thread?.unref();
    if ('value' in reply) {
      question?.resolve(reply.value);
      return;
    }
    this.#options.log.warn({ err: reply.error }, 'an index of a vector store cannot be used');
    question?.reject(broken(reply.error));
  }
}

function broken(reason: string): GatewayError {
  return new GatewayError('internal_error', 'The index of this vector store cannot be used.', { cause: reason });
}
