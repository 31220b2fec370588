import { FairSemaphore, type FairSemaphoreOptions } from '../fair-semaphore.ts';
import { workOwner } from '../load/event-loop.ts';
import type { WorkLimits } from '../load/process-usage.ts';
import { type ConfinedWorker, JobFailedError } from './confined-worker.ts';

export interface ConfinedPoolOptions<Answer> extends Omit<FairSemaphoreOptions, 'perOwner'> {
  start(): ConfinedWorker<Answer>;
  /** How long idle processes are kept, in milliseconds. */
  idleMs: number;
}

/** A process is replaced after this many jobs, so that leaks in libraries stay small. */
const MAX_JOBS_PER_PROCESS = 200;

/** A pool of confined processes: started on demand, kept while there is work and replaced when a job breaks one. */
export class ConfinedPool<Answer> implements Disposable {
  readonly #options: ConfinedPoolOptions<Answer>;
  readonly #turns: FairSemaphore;
  readonly #idle: ConfinedWorker<Answer>[] = [];
  readonly #busy = new Set<ConfinedWorker<Answer>>();
  #idleTimer: NodeJS.Timeout | undefined;
  #closed = false;

  constructor(options: ConfinedPoolOptions<Answer>) {
    this.#options = options;
    this.#turns = new FairSemaphore(options);
  }

  /**
   * Runs one job, sharing the processes fairly among owners. Waits for a free process as long as the caller waits.
   * @throws JobFailedError; the error of `fullError`, also when the pool is closed; the signal's reason.
   */
  async run(job: object, options: { limits: WorkLimits; signal: AbortSignal }): Promise<Answer> {
    using _place = await this.#turns.acquire(workOwner(), options.signal);
    for (;;) {
      if (this.#closed) throw this.#options.fullError();
      const worker = this.#takeIdle() ?? this.#options.start();
      const isFresh = worker.jobs === 0;
      this.#busy.add(worker);
      try {
        return await worker.run(job, options);
      } catch (error) {
        // A process may have been killed while it was idle, and nobody has noticed yet.
        if (isFresh || !(error instanceof JobFailedError) || error.kind !== 'crashed') throw error;
      } finally {
        this.#busy.delete(worker);
        this.#release(worker);
      }
    }
  }

  [Symbol.dispose](): void {
    this.#closed = true;
    clearTimeout(this.#idleTimer);
    for (const worker of [...this.#idle.splice(0), ...this.#busy]) worker[Symbol.dispose]();
  }

  #takeIdle(): ConfinedWorker<Answer> | undefined {
    for (let worker = this.#idle.pop(); worker; worker = this.#idle.pop()) if (worker.alive) return worker;
    return undefined;
  }

  #release(worker: ConfinedWorker<Answer>): void {
    if (this.#closed || worker.jobs >= MAX_JOBS_PER_PROCESS) worker[Symbol.dispose]();
    if (this.#closed) return;
    // A broken worker is replaced at once, so that the next job finds one started.
    this.#idle.push(worker.alive ? worker : this.#options.start());
    clearTimeout(this.#idleTimer);
    this.#idleTimer = setTimeout(() => {
      for (const idle of this.#idle.splice(0)) idle[Symbol.dispose]();
    }, this.#options.idleMs).unref();
  }
}
