import type { ChildProcess } from 'node:child_process';
import { limitProcess, type WorkLimits } from '../load/process-usage.ts';
import { type ConfinedChildOptions, spawnConfinedChild } from './confined-child.ts';

/** Why a job failed. `not_started`: the process ended before the job began. */
export type JobFailureKind = 'not_started' | 'time' | 'memory' | 'crashed';

export class JobFailedError extends Error {
  override readonly name = 'JobFailedError';
  readonly kind: JobFailureKind;

  constructor(kind: JobFailureKind) {
    super(`the process of the job ended: ${kind}`);
    this.kind = kind;
  }
}

/**
 * Limits while a process starts, or a job is on its way to it: generous, because an overloaded machine is slow and the
 * caller decides how long to wait.
 */
const START_LIMITS: WorkLimits = { timeMs: 60_000, memoryBytes: Number.POSITIVE_INFINITY };

/** What the entry of a process sends once it has received a whole job. */
const BEGUN = 'begun';

export interface ConfinedWorkerOptions<Answer> extends ConfinedChildOptions {
  /** Parses a message of the process into the answer; undefined for a message that an intact process never sends. */
  read(message: unknown): Answer | undefined;
}

/** The job that a process is working on. */
interface CurrentJob {
  onReady(): void;
  onBegin(): void;
  onMessage(message: unknown): void;
  onCrash(): void;
}

/**
 * A confined child process that does one job after another until it is disposed or breaks. Its entry sends one message
 * when it has started, and two for every job: `begun`, and the answer. Messages go to the current job alone, so that
 * nothing that lives as long as the process holds on to a finished job.
 */
export class ConfinedWorker<Answer> implements Disposable {
  readonly #child: ChildProcess;
  readonly #read: ConfinedWorkerOptions<Answer>['read'];
  #current: CurrentJob | undefined;
  #hasStarted = false;
  #alive = true;
  /** Jobs started so far. */
  jobs = 0;

  constructor(entry: URL, { read, ...options }: ConfinedWorkerOptions<Answer>) {
    this.#read = read;
    this.#child = spawnConfinedChild(entry, options);
    this.#child.on('message', (message) => {
      if (this.#hasStarted) {
        if (message === BEGUN) this.#current?.onBegin();
        else this.#current?.onMessage(message);
      } else {
        this.#hasStarted = true;
        this.#current?.onReady();
      }
    });
    const onGone = () => {
      this.#alive = false;
      this.#current?.onCrash();
    };
    this.#child.once('exit', onGone).once('error', onGone).once('disconnect', onGone);
    this.#keepProcessAlive(false);
  }

  get alive(): boolean {
    return this.#alive;
  }

  /**
   * Does one job. The time limit applies once the process has the job, that of memory once it has started. A process that
   * does not finish its job is killed.
   * @throws JobFailedError; the signal's reason.
   */
  async run(job: object, { limits, signal }: { limits: WorkLimits; signal: AbortSignal }): Promise<Answer> {
    signal.throwIfAborted();
    if (!this.#alive) throw new JobFailedError('not_started');
    const { promise, resolve, reject } = Promise.withResolvers<Answer>();
    let jobHasStarted = false;
    const fail = (kind: JobFailureKind) => {
      this[Symbol.dispose]();
      reject(new JobFailedError(jobHasStarted ? kind : 'not_started'));
    };
    const onAbort = () => {
      // A process that is still starting can do the next job.
      if (jobHasStarted) this[Symbol.dispose]();
      reject(signal.reason);
    };
    let limit = limitProcess(this.#child.pid, START_LIMITS, fail);
    const limitTo = (next: WorkLimits) => {
      limit[Symbol.dispose]();
      limit = limitProcess(this.#child.pid, next, fail);
    };
    let hasBegun = false;
    const current: CurrentJob = {
      onReady: () => {
        jobHasStarted = true;
        limitTo({ ...limits, timeMs: START_LIMITS.timeMs });
        this.#child.send(job, (error) => error && fail('crashed'));
      },
      onBegin: () => {
        // Only once: a process that hostile input has taken over gets no more time.
        if (!hasBegun) limitTo(limits);
        hasBegun = true;
      },
      onMessage: (message) => {
        const answer = this.#read(message);
        if (answer === undefined) fail('crashed');
        else resolve(answer);
      },
      onCrash: () => fail('crashed'),
    };
    this.jobs += 1;
    this.#current = current;
    this.#keepProcessAlive(true);
    signal.addEventListener('abort', onAbort, { once: true });
    if (this.#hasStarted) current.onReady();
    try {
      return await promise;
    } finally {
      this.#current = undefined;
      this.#keepProcessAlive(false);
      limit[Symbol.dispose]();
      signal.removeEventListener('abort', onAbort);
    }
  }

  [Symbol.dispose](): void {
    this.#alive = false;
    this.#child.kill('SIGKILL');
  }

  /** An idle child does not keep the gateway's process alive; a working one does. */
  #keepProcessAlive(isWorking: boolean): void {
    if (isWorking) {
      this.#child.ref();
      this.#child.channel?.ref();
    } else {
      this.#child.unref();
      this.#child.channel?.unref();
    }
  }
}
