import { abortable, linkSignals } from '../../base/abort.ts';
import type { Confinement } from '../../base/confinement.ts';
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
  readonly #waiting: (() => void)[] = [];
  readonly #closing = new AbortController();
  readonly #snapshot = new SandboxSnapshot();
  #confinement: Promise<Confinement> | undefined;
  #running = 0;
  #spare: SandboxProcess | undefined;
  #idleTimer: NodeJS.Timeout | undefined;

  constructor(options: SandboxPoolOptions) {
    this.#options = options;
  }

  /** Processes that are alive, the spare one included. */
  get processCount(): number {
    return this.#processes.size;
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
    await this.#enter(signal);
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
    } finally {
      this.#leave();
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

  async #enter(signal: AbortSignal): Promise<void> {
    signal.throwIfAborted();
    if (this.#running < this.#options.maxConcurrent) {
      this.#running++;
      return;
    }
    if (this.#waiting.length >= this.#options.maxWaiting) {
      throw new ToolError('busy', 'Too much Python code is waiting to run. Try again later or go on without it.');
    }
    const turn = Promise.withResolvers<void>();
    this.#waiting.push(turn.resolve);
    try {
      await abortable(turn.promise, signal);
    } catch (error) {
      const place = this.#waiting.indexOf(turn.resolve);
      if (place >= 0) this.#waiting.splice(place, 1);
      // The turn came at the same moment: hand it on.
      else this.#leave();
      throw error;
    }
  }

  /** Gives this run's place to the next one that waits, or frees it. */
  #leave(): void {
    const next = this.#waiting.shift();
    if (next) next();
    else this.#running--;
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
