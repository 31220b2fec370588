import { linkSignals, TimeoutError } from '../../../base/abort.ts';
import { workOwner } from '../../../base/event-loop.ts';
import { FairTurns } from '../../../base/fair-turns.ts';
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
/** Documents that wait hold no more than this together, in bytes; those of one owner as much as is left for others. */
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
  readonly #turns: FairTurns;
  readonly #idle: ParseProcess[] = [];
  readonly #busy = new Set<ParseProcess>();
  readonly #waitingBytes = new Map<string, number>();
  #idleTimer: NodeJS.Timeout | undefined;
  #closed = false;

  constructor(options: ParsePoolOptions = {}) {
    this.#limits = { timeMs: 3000, memoryBytes: 512 * 1024 * 1024, ...options.limits };
    this.#totalMs = options.totalMs ?? 20_000;
    this.#turns = new FairTurns({ places: options.size ?? 2, maxWaiting: options.maxWaiting ?? 1024, full: tooMany });
  }

  /**
   * Reads a document.
   * @throws ParseFailure, or the reason of the signal.
   */
  async parse(job: Omit<ParseJob, 'softLimitMs'>, options: { signal: AbortSignal }): Promise<ParsedDocument> {
    using limited = linkSignals([options.signal], { what: 'reading the document', timeoutMs: this.#totalMs });
    try {
      const { child, place } = await this.#acquire(job.bytes.byteLength, limited.signal);
      using _place = place;
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

  /** A place among those that read, and the process that has it. */
  async #acquire(bytes: number, signal: AbortSignal): Promise<{ child: ParseProcess; place: Disposable }> {
    signal.throwIfAborted();
    const owner = workOwner();
    using _waiting = this.#hold(owner, bytes);
    const place = await this.#turns.enter(owner, signal);
    if (this.#closed) {
      place[Symbol.dispose]();
      throw new ParseFailure('busy', 'the parser is shut down');
    }
    const child = this.#takeIdle() ?? new ParseProcess();
    this.#busy.add(child);
    return { child, place };
  }

  /** Counts a document that waits. */
  #hold(owner: string, bytes: number): Disposable {
    const own = this.#waitingBytes.get(owner) ?? 0;
    const all = [...this.#waitingBytes.values()].reduce((sum, each) => sum + each, 0);
    if (own + all + bytes > MAX_WAITING_BYTES && all > 0) throw tooMany();
    this.#waitingBytes.set(owner, own + bytes);
    return {
      [Symbol.dispose]: () => {
        const left = (this.#waitingBytes.get(owner) ?? 0) - bytes;
        if (left > 0) this.#waitingBytes.set(owner, left);
        else this.#waitingBytes.delete(owner);
      },
    };
  }

  #takeIdle(): ParseProcess | undefined {
    for (let child = this.#idle.pop(); child; child = this.#idle.pop()) if (child.alive) return child;
    return undefined;
  }

  /** Keeps the process for the next in line, or a fresh one in place of a broken one. */
  #release(child: ParseProcess): void {
    this.#busy.delete(child);
    const worn = this.#closed || !child.alive || child.jobs >= JOBS_PER_PROCESS;
    if (worn) child[Symbol.dispose]();
    if (this.#closed) return;
    this.#idle.push(worn ? new ParseProcess() : child);
    this.#endWhenIdle();
  }

  #endWhenIdle(): void {
    clearTimeout(this.#idleTimer);
    this.#idleTimer = setTimeout(() => {
      for (const child of this.#idle.splice(0)) child[Symbol.dispose]();
    }, IDLE_MS);
    this.#idleTimer.unref();
  }
}

function tooMany(): ParseFailure {
  return new ParseFailure('busy', 'too many documents are being read');
}
