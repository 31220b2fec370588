import type { ChildProcess } from 'node:child_process';
import { spawnConfinedChild } from '../../../base/confined-child.ts';
import { residentMemory } from '../../../base/resident-memory.ts';
import { childMessage, type ParsedDocument, type ParseJob } from './parse-job.ts';

/** Why a document was not read. */
export type ParseFailureKind = 'timeout' | 'memory' | 'crashed' | 'unreadable' | 'busy';

export class ParseFailure extends Error {
  override readonly name = 'ParseFailure';
  readonly kind: ParseFailureKind;

  constructor(kind: ParseFailureKind, message: string) {
    super(message);
    this.kind = kind;
  }
}

export interface ProcessLimits {
  timeMs: number;
  memoryBytes: number;
}

/** How often the memory of a working child is looked at, in milliseconds. A child can grow by some 50 MB meanwhile. */
const MEMORY_CHECK_MS = 40;
const STARTUP_MS = 10_000;
const HEAP_MB = 320;

/** One child process: reads one document after another until it is stopped or breaks. */
export class ParseProcess implements Disposable {
  readonly #child: ChildProcess;
  readonly #ready: Promise<void>;
  readonly #exited: Promise<void>;
  #receive: ((message: unknown) => void) | undefined;
  #alive = true;
  /** Documents read so far. */
  jobs = 0;

  constructor() {
    this.#child = spawnConfinedChild(new URL('./parse-child.ts', import.meta.url), {
      packages: ['linkedom', 'zod', 'unpdf'],
      heapMb: HEAP_MB,
    });
    const { promise: ready, resolve: isReady } = Promise.withResolvers<void>();
    const { promise: exited, resolve: hasExited } = Promise.withResolvers<void>();
    this.#ready = ready;
    this.#exited = exited;
    this.#receive = () => isReady();
    this.#child.on('message', (message) => this.#receive?.(message));
    const gone = () => {
      this.#alive = false;
      hasExited();
    };
    this.#child.once('exit', gone);
    this.#child.once('error', gone);
    this.#child.once('disconnect', gone);
    // An idle child does not keep the gateway's process alive; a working one does through its timer.
    this.#child.unref();
    this.#child.channel?.unref();
  }

  get alive(): boolean {
    return this.#alive;
  }

  /**
   * Reads one document. After a failure other than `unreadable` the process is gone.
   * @throws ParseFailure, or the reason of the signal.
   */
  async parse(job: ParseJob, options: { limits: ProcessLimits; signal: AbortSignal }): Promise<ParsedDocument> {
    const { limits, signal } = options;
    this.jobs += 1;
    const { promise, resolve, reject } = Promise.withResolvers<ParsedDocument>();
    let over = false;
    const stop = (error: unknown) => {
      over = true;
      this[Symbol.dispose]();
      reject(error);
    };
    const onAbort = () => stop(signal.reason);
    signal.addEventListener('abort', onAbort, { once: true });
    let timer = setTimeout(() => stop(new ParseFailure('crashed', 'the parser did not start')), STARTUP_MS);
    const watch = setInterval(() => {
      this.#checkMemory(limits.memoryBytes).then((fits) => {
        if (!fits)
          stop(new ParseFailure('memory', `reading it takes more than ${limits.memoryBytes >> 20} MiB of memory`));
      }, stop);
    }, MEMORY_CHECK_MS);
    void this.#exited.then(() => reject(new ParseFailure('crashed', 'the parser broke down')));
    void this.#ready.then(() => {
      if (over) return;
      clearTimeout(timer);
      timer = setTimeout(
        () => stop(new ParseFailure('timeout', `reading it takes longer than ${limits.timeMs} ms`)),
        limits.timeMs,
      );
      this.#receive = (message) => settle(message, { resolve, reject: stop, unreadable: reject });
      this.#child.send(job, (error) => error && stop(new ParseFailure('crashed', 'the parser broke down')));
    });
    try {
      signal.throwIfAborted();
      return await promise;
    } finally {
      over = true;
      clearTimeout(timer);
      clearInterval(watch);
      signal.removeEventListener('abort', onAbort);
    }
  }

  async #checkMemory(limit: number): Promise<boolean> {
    const used = this.#child.pid === undefined ? undefined : await residentMemory(this.#child.pid);
    return used === undefined || used <= limit;
  }

  [Symbol.dispose](): void {
    this.#alive = false;
    this.#child.kill('SIGKILL');
  }
}

function settle(
  message: unknown,
  to: {
    resolve: (document: ParsedDocument) => void;
    reject: (error: unknown) => void;
    unreadable: (error: unknown) => void;
  },
): void {
  const parsed = childMessage.safeParse(message);
  if (!parsed.success) to.reject(new ParseFailure('crashed', 'the parser broke down'));
  else if (parsed.data.type === 'parsed') to.resolve(parsed.data.document);
  else if (parsed.data.type === 'failed') to.unreadable(new ParseFailure('unreadable', parsed.data.message));
}
