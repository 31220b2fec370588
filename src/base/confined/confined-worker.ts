import type { ChildProcess } from 'node:child_process';
import { limitProcess, type WorkLimits } from '../load/process-usage.ts';
import { type ConfinedChildOptions, spawnConfinedChild } from './confined-child.ts';

/** Why a job was not done. `not_started`: it had not begun. */
export type BrokenJobKind = 'not_started' | 'time' | 'memory' | 'crashed';

export class BrokenJob extends Error {
  override readonly name = 'BrokenJob';
  readonly kind: BrokenJobKind;

  constructor(kind: BrokenJobKind) {
    super(`the process of the job ended: ${kind}`);
    this.kind = kind;
  }
}

/** What a process may take to start. A machine with too much to do is waited for, as long as the caller waits. */
const STARTING: WorkLimits = { timeMs: 60_000, memoryBytes: Number.POSITIVE_INFINITY };

export interface ConfinedWorkerOptions<Answer> extends ConfinedChildOptions {
  /** What a message of the process says of its job; undefined for what an honest one does not send. */
  read(message: unknown): Answer | undefined;
}

/** The job that a process works on. */
interface CurrentJob {
  begin(): void;
  answered(message: unknown): void;
  crashed(): void;
}

/**
 * A confined child process that does one job after another, until it is disposed of or breaks. The entry sends a message
 * when it has started, and one for every job. Everything that is said by the process goes to the job at hand: nothing
 * that lasts as long as the process refers to a job that is over.
 */
export class ConfinedWorker<Answer> implements Disposable {
  readonly #child: ChildProcess;
  readonly #read: ConfinedWorkerOptions<Answer>['read'];
  #current: CurrentJob | undefined;
  #hasStarted = false;
  #alive = true;
  /** Jobs so far. */
  jobs = 0;

  constructor(entry: URL, { read, ...options }: ConfinedWorkerOptions<Answer>) {
    this.#read = read;
    this.#child = spawnConfinedChild(entry, options);
    this.#child.on('message', (message) => {
      if (this.#hasStarted) this.#current?.answered(message);
      else {
        this.#hasStarted = true;
        this.#current?.begin();
      }
    });
    const gone = () => {
      this.#alive = false;
      this.#current?.crashed();
    };
    this.#child.once('exit', gone).once('error', gone).once('disconnect', gone);
    this.#hold(false);
  }

  get alive(): boolean {
    return this.#alive;
  }

  /**
   * Does one job. The limits hold from the moment in which the
   * process has started. A process that did not end its job is ended itself.
   * @throws BrokenJob; the signal's reason.
   */
  async run(job: object, { limits, signal }: { limits: WorkLimits; signal: AbortSignal }): Promise<Answer> {
    signal.throwIfAborted();
    if (!this.#alive) throw new BrokenJob('not_started');
    const { promise, resolve, reject } = Promise.withResolvers<Answer>();
    let hasBegun = false;
    const broken = (kind: BrokenJobKind) => {
      this[Symbol.dispose]();
      reject(new BrokenJob(hasBegun ? kind : 'not_started'));
    };
    const onAbort = () => {
      // One that is still starting is good for the next job.
      if (hasBegun) this[Symbol.dispose]();
      reject(signal.reason);
    };
    let limit = limitProcess(this.#child.pid, STARTING, broken);
    const current: CurrentJob = {
      begin: () => {
        hasBegun = true;
        limit[Symbol.dispose]();
        limit = limitProcess(this.#child.pid, limits, broken);
        this.#child.send(job, (error) => error && broken('crashed'));
      },
      answered: (message) => {
        const answer = this.#read(message);
        if (answer === undefined) broken('crashed');
        else resolve(answer);
      },
      crashed: () => broken('crashed'),
    };
    this.jobs += 1;
    this.#current = current;
    this.#hold(true);
    signal.addEventListener('abort', onAbort, { once: true });
    if (this.#hasStarted) current.begin();
    try {
      return await promise;
    } finally {
      this.#current = undefined;
      this.#hold(false);
      limit[Symbol.dispose]();
      signal.removeEventListener('abort', onAbort);
    }
  }

  [Symbol.dispose](): void {
    this.#alive = false;
    this.#child.kill('SIGKILL');
  }

  /** An idle child does not keep the gateway's process alive; a working one does. */
  #hold(held: boolean): void {
    if (held) {
      this.#child.ref();
      this.#child.channel?.ref();
    } else {
      this.#child.unref();
      this.#child.channel?.unref();
    }
  }
}
