import { linkSignals, TimeoutError } from '../../../base/abort.ts';
import type { ParsedDocument, ParseJob } from './parse-job.ts';
import { ParseFailure, ParseProcess, type ProcessLimits } from './parse-process.ts';

export interface ParsePoolOptions {
  /** Child processes at most. Default 2. */
  size?: number;
  /** Limits of one document. Default 3 s and 512 MiB. */
  limits?: Partial<ProcessLimits>;
  /** The longest time from the call to its end, waiting for a free process included. Default 20 s. */
  totalMs?: number;
  /** Documents waiting for a process at most. Default 1024. */
  maxWaiting?: number;
}

/** A child is replaced after so many documents, so that leaks of parsers stay small. */
const JOBS_PER_PROCESS = 200;
/** Documents that wait hold no more than this together, in bytes. */
const MAX_WAITING_BYTES = 128 * 1024 * 1024;
/** Idle children end after this time, in milliseconds. */
const IDLE_MS = 60_000;

/**
 * Child processes that read documents. They are started when needed, kept while there is work and replaced when a
 * document breaks one.
 */
export class ParsePool implements Disposable {
  readonly #limits: ProcessLimits;
  readonly #totalMs: number;
  readonly #size: number;
  readonly #maxWaiting: number;
  readonly #idle: ParseProcess[] = [];
  readonly #busy = new Set<ParseProcess>();
  readonly #waiting: ((process: ParseProcess) => void)[] = [];
  #waitingBytes = 0;
  #idleTimer: NodeJS.Timeout | undefined;
  #closed = false;

  constructor(options: ParsePoolOptions = {}) {
    this.#limits = { timeMs: 3000, memoryBytes: 512 * 1024 * 1024, ...options.limits };
    this.#totalMs = options.totalMs ?? 20_000;
    this.#size = options.size ?? 2;
    this.#maxWaiting = options.maxWaiting ?? 1024;
  }

  /**
   * Reads a document.
   * @throws ParseFailure, or the reason of the signal.
   */
  async parse(job: Omit<ParseJob, 'softLimitMs'>, options: { signal: AbortSignal }): Promise<ParsedDocument> {
    using limited = linkSignals([options.signal], { what: 'reading the document', timeoutMs: this.#totalMs });
    try {
      const child = await this.#acquire(job.bytes.byteLength, limited.signal);
      try {
        const softLimitMs = this.#limits.timeMs * 0.7;
        return await child.parse({ ...job, softLimitMs }, { limits: this.#limits, signal: limited.signal });
      } finally {
        this.#release(child);
      }
    } catch (error) {
      options.signal.throwIfAborted();
      if (error instanceof TimeoutError)
        throw new ParseFailure('timeout', `reading it takes longer than ${error.ms} ms`);
      throw error;
    }
  }

  [Symbol.dispose](): void {
    this.#closed = true;
    clearTimeout(this.#idleTimer);
    for (const child of [...this.#idle, ...this.#busy]) child[Symbol.dispose]();
    this.#idle.length = 0;
  }

  async #acquire(bytes: number, signal: AbortSignal): Promise<ParseProcess> {
    signal.throwIfAborted();
    if (this.#closed) throw new ParseFailure('busy', 'the parser is shut down');
    const free = this.#takeIdle() ?? (this.#busy.size < this.#size ? new ParseProcess() : undefined);
    if (free) {
      this.#busy.add(free);
      return free;
    }
    if (this.#waiting.length >= this.#maxWaiting || this.#waitingBytes + bytes > MAX_WAITING_BYTES) {
      throw new ParseFailure('busy', 'too many documents are being read');
    }
    this.#waitingBytes += bytes;
    const { promise, resolve, reject } = Promise.withResolvers<ParseProcess>();
    const onAbort = () => {
      const place = this.#waiting.indexOf(resolve);
      if (place >= 0) this.#waiting.splice(place, 1);
      reject(signal.reason);
    };
    this.#waiting.push(resolve);
    signal.addEventListener('abort', onAbort, { once: true });
    try {
      return await promise;
    } finally {
      this.#waitingBytes -= bytes;
      signal.removeEventListener('abort', onAbort);
    }
  }

  #takeIdle(): ParseProcess | undefined {
    for (let child = this.#idle.pop(); child; child = this.#idle.pop()) if (child.alive) return child;
    return undefined;
  }

  /** Hands the process, or a fresh one in place of a broken one, to the next in line. */
  #release(child: ParseProcess): void {
    this.#busy.delete(child);
    const worn = this.#closed || !child.alive || child.jobs >= JOBS_PER_PROCESS;
    if (worn) child[Symbol.dispose]();
    if (this.#closed) return;
    const next = worn ? new ParseProcess() : child;
    const waiting = this.#waiting.shift();
    if (waiting) {
      this.#busy.add(next);
      waiting(next);
    } else {
      this.#idle.push(next);
      this.#endWhenIdle();
    }
  }

  #endWhenIdle(): void {
    clearTimeout(this.#idleTimer);
    this.#idleTimer = setTimeout(() => {
      for (const child of this.#idle.splice(0)) child[Symbol.dispose]();
    }, IDLE_MS);
    this.#idleTimer.unref();
  }
}
