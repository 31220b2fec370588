import { FairSemaphore, type FairSemaphoreOptions } from '../fair-semaphore.ts';
import { workOwner } from '../load/event-loop.ts';
import type { WorkLimits } from '../load/process-usage.ts';
import type { ConfinedWorker } from './confined-worker.ts';

export interface ConfinedPoolOptions<Answer> extends Omit<FairSemaphoreOptions, 'ofOwner'> {
  start(): ConfinedWorker<Answer>;
  /** An idle process ends after this time, in milliseconds. */
  idleMs: number;
}

/** A process is replaced after so many jobs, so that leaks of libraries stay small. */
const JOBS_PER_PROCESS = 200;

/** Processes that do jobs: started when needed, kept while there is work and replaced when a job breaks one. */
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
   * Does one job, in turn with those of other owners. Waits for a process as long as the caller does.
   * @throws BrokenJob; what `full` gives, also when the pool is closed; the signal's reason.
   */
  async run(job: object, options: { limits: WorkLimits; signal: AbortSignal }): Promise<Answer> {
    using _place = await this.#turns.acquire(workOwner(), options.signal);
    if (this.#closed) throw this.#options.full();
    const worker = this.#takeIdle() ?? this.#options.start();
    this.#busy.add(worker);
    try {
      return await worker.run(job, options);
    } finally {
      this.#busy.delete(worker);
      this.#keep(worker);
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

  #keep(worker: ConfinedWorker<Answer>): void {
    if (this.#closed || worker.jobs >= JOBS_PER_PROCESS) worker[Symbol.dispose]();
    if (this.#closed) return;
    // A fresh one in place of a broken one: the next job finds it started.
    this.#idle.push(worker.alive ? worker : this.#options.start());
    clearTimeout(this.#idleTimer);
    this.#idleTimer = setTimeout(() => {
      for (const idle of this.#idle.splice(0)) idle[Symbol.dispose]();
    }, this.#options.idleMs).unref();
  }
}
