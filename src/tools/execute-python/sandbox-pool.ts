import { abortable, linkSignals } from '../../base/abort.ts';
import { FairSemaphore } from '../../base/fair-semaphore.ts';
import { workOwner } from '../../base/load/event-loop.ts';
import type { Logger } from '../../base/logger.ts';
import { once } from '../../base/once.ts';
import { ToolError } from '../tool.ts';
import { findConfinement } from './confinement.ts';
import { type SandboxOptions, SandboxProcess, type SandboxResult } from './sandbox-process.ts';
import { SandboxSnapshot } from './sandbox-snapshot.ts';

export interface SandboxPoolOptions extends Omit<SandboxOptions, 'snapshot' | 'confinement'> {
  /** How many runs may be active at the same time; further ones wait. */
  maxConcurrent: number;
  /** How many runs may wait; further ones are refused. */
  maxWaiting: number;
  /** How long an unused spare process is kept, in milliseconds. */
  idleMs: number;
}

type StartState = Pick<SandboxOptions, 'snapshot' | 'confinement'>;

/**
 * Sandbox processes, each used once. From the first run on, a spare process is loaded in advance, so that code starts
 * at once.
 */
export class SandboxPool implements AsyncDisposable {
  readonly #options: SandboxPoolOptions;
  readonly #processes = new Set<SandboxProcess>();
  readonly #turns: FairSemaphore;
  readonly #closing = new AbortController();
  readonly #snapshot = new SandboxSnapshot();
  readonly #confinement = once(async (log: Logger) => {
    const found = await findConfinement();
    log.info({ holds: found.restrictions }, 'the Python sandbox is confined by the system');
    return found;
  });
  #spare: SandboxProcess | undefined;
  #idleTimer: NodeJS.Timeout | undefined;

  constructor(options: SandboxPoolOptions) {
    this.#options = options;
    const { maxConcurrent: places, maxWaiting } = options;
    // With more than two places, one owner cannot take them all.
    this.#turns = new FairSemaphore({
      name: 'python',
      permits: places,
      perOwner: places > 2 ? places - 1 : places,
      maxWaiting,
      fullError: tooManyRuns,
    });
  }

  /** Process ids of the live processes, for monitoring. */
  get pids(): number[] {
    return [...this.#processes].flatMap(({ pid }) => pid ?? []);
  }

  /**
   * Runs `code` in a process of its own. Rejects with the signal's reason as soon as it aborts.
   * @throws ToolError `busy` if too many runs wait, `unavailable` if no interpreter can be loaded or the pool closes.
   */
  async run(code: string, options: { signal: AbortSignal; log: Logger }): Promise<SandboxResult> {
    using linked = linkSignals([options.signal, this.#closing.signal]);
    const { signal } = linked;
    using _place = await this.#turns.acquire(workOwner(), signal);
    try {
      const start = await abortable(this.#startState(options.log), signal);
      const sandbox = this.#take(start);
      this.#prepareSpare(start);
      return await sandbox.run(code, { signal });
    } catch (error) {
      if (signal.aborted) throw signal.reason;
      throw new ToolError('unavailable', 'The Python sandbox could not be started. Go on without it.', {
        cause: error,
      });
    }
  }

  /** Ends every process and every run, and waits until they are gone. */
  async [Symbol.asyncDispose](): Promise<void> {
    this.#closing.abort(new ToolError('unavailable', 'The gateway is shutting down.'));
    clearTimeout(this.#idleTimer);
    const processes = [...this.#processes];
    for (const sandbox of processes) {
      sandbox.keepAlive(true);
      sandbox[Symbol.dispose]();
    }
    await Promise.all(processes.map(({ ended }) => ended));
    await this.#snapshot[Symbol.asyncDispose]();
  }

  /** Finds out once what every process starts from. @throws Error if no process can be started now. */
  async #startState(log: Logger): Promise<StartState> {
    const [confinement, snapshot] = await Promise.all([this.#confinement(log), this.#snapshot.descriptor(log)]);
    return { confinement, snapshot };
  }

  #take(start: StartState): SandboxProcess {
    clearTimeout(this.#idleTimer);
    const spare = this.#spare;
    this.#spare = undefined;
    const sandbox = spare?.usable ? spare : this.#start(start);
    sandbox.keepAlive(true);
    return sandbox;
  }

  #prepareSpare(start: StartState): void {
    clearTimeout(this.#idleTimer);
    this.#idleTimer = setTimeout(() => this.#spare?.[Symbol.dispose](), this.#options.idleMs);
    this.#idleTimer.unref();
    if (this.#spare?.usable) return;
    this.#spare = this.#start(start);
    this.#spare.keepAlive(false);
  }

  #start(start: StartState): SandboxProcess {
    const sandbox = new SandboxProcess({ ...this.#options, ...start });
    this.#processes.add(sandbox);
    void sandbox.ended.then(() => this.#processes.delete(sandbox));
    return sandbox;
  }
}

function tooManyRuns(): ToolError {
  return new ToolError('busy', 'Too much Python code is waiting to run. Try again later or go on without it.');
}
