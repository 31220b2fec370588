import { abortable, linkSignals } from '../../base/abort.ts';
import type { Confinement } from '../../base/confined/confinement.ts';
import { FairSemaphore } from '../../base/fair-semaphore.ts';
import { workOwner } from '../../base/load/event-loop.ts';
import type { Logger } from '../../base/logger.ts';
import { ToolError } from '../tool.ts';
import { findConfinement } from './confinement.ts';
import { type SandboxOptions, SandboxProcess, type SandboxResult } from './sandbox-process.ts';
import { SandboxSnapshot } from './sandbox-snapshot.ts';

export interface SandboxPoolOptions extends Omit<SandboxOptions, 'snapshot' | 'confinement'> {
  /** Runs at the same time; further ones wait. */
  maxConcurrent: number;
  /** Runs that may wait; further ones are refused. */
  maxWaiting: number;
  /** A spare process that nobody needed for this long is ended, in milliseconds. */
  idleMs: number;
}

type StartFrom = Pick<SandboxOptions, 'snapshot' | 'confinement'>;

/**
 * Sandbox processes, each used once. The first run starts one; from then on one spare process is loaded in advance, so
 * that code runs at once.
 */
export class SandboxPool implements AsyncDisposable {
  readonly #options: SandboxPoolOptions;
  readonly #processes = new Set<SandboxProcess>();
  readonly #turns: FairSemaphore;
  readonly #closing = new AbortController();
  readonly #snapshot = new SandboxSnapshot();
  #confinement: Promise<Confinement> | undefined;
  #spare: SandboxProcess | undefined;
  #idleTimer: NodeJS.Timeout | undefined;

  constructor(options: SandboxPoolOptions) {
    this.#options = options;
    const { maxConcurrent: places, maxWaiting } = options;
    // One place is kept for others where that leaves enough.
    this.#turns = new FairSemaphore({
      name: 'python',
      permits: places,
      ofOwner: places > 2 ? places - 1 : places,
      maxWaiting,
      full: tooMuch,
    });
  }

  /** Process ids of what is alive, for those who watch from outside. */
  get pids(): number[] {
    return [...this.#processes].flatMap((each) => each.pid ?? []);
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
      const start = await abortable(this.#startFrom(options.log), signal);
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
    for (const each of processes) {
      each.hold(true);
      each[Symbol.dispose]();
    }
    await Promise.all(processes.map((each) => each.ended));
    await this.#snapshot[Symbol.asyncDispose]();
  }

  /** What every process starts from, found out once. */
  async #startFrom(log: Logger): Promise<StartFrom> {
    this.#confinement ??= findConfinement().then((found) => {
      log.info({ holds: found.holds }, 'the Python sandbox is confined by the system');
      return found;
    });
    const [confinement, snapshot] = await Promise.all([this.#confinement, this.#snapshot.descriptor(log)]);
    return { confinement, snapshot };
  }

  #take(start: StartFrom): SandboxProcess {
    clearTimeout(this.#idleTimer);
    const spare = this.#spare;
    this.#spare = undefined;
    const sandbox = spare?.usable ? spare : this.#start(start);
    sandbox.hold(true);
    return sandbox;
  }

  #prepareSpare(start: StartFrom): void {
    clearTimeout(this.#idleTimer);
    this.#idleTimer = setTimeout(() => this.#spare?.[Symbol.dispose](), this.#options.idleMs);
    this.#idleTimer.unref();
    if (this.#spare?.usable) return;
    this.#spare = this.#start(start);
    this.#spare.hold(false);
  }

  #start(start: StartFrom): SandboxProcess {
    const sandbox = new SandboxProcess({ ...this.#options, ...start });
    this.#processes.add(sandbox);
    void sandbox.ended.then(() => this.#processes.delete(sandbox));
    return sandbox;
  }
}

function tooMuch(): ToolError {
  return new ToolError('busy', 'Too much Python code is waiting to run. Try again later or go on without it.');
}
