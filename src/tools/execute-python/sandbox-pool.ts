import { abortable } from '../../base/abort.ts';
import { ToolError } from '../tool.ts';
import { type SandboxOptions, SandboxProcess, type SandboxResult } from './sandbox-process.ts';

export interface SandboxPoolOptions extends SandboxOptions {
  /** Runs at the same time; further ones wait. */
  maxConcurrent: number;
  /** Runs that may wait; further ones are refused. */
  maxWaiting: number;
  /** A spare process that nobody needed for this long is ended, in milliseconds. */
  idleMs: number;
}

/**
 * Sandbox processes, each used once. The first run starts one; from then on one spare process is loaded in advance, so
 * that code runs at once.
 */
export class SandboxPool implements AsyncDisposable {
  readonly #options: SandboxPoolOptions;
  readonly #processes = new Set<SandboxProcess>();
  readonly #waiting: (() => void)[] = [];
  readonly #closing = new AbortController();
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
   * @throws ToolError `busy` if too many runs wait, `unavailable` if no interpreter can be loaded.
   */
  async run(code: string, options: { signal: AbortSignal }): Promise<SandboxResult> {
    await this.#enter(options.signal);
    try {
      const sandbox = this.#take();
      this.#prepareSpare();
      return await sandbox.run(code, options);
    } catch (error) {
      if (options.signal.aborted || error instanceof ToolError) throw error;
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
  }

  async #enter(signal: AbortSignal): Promise<void> {
    signal.throwIfAborted();
    this.#closing.signal.throwIfAborted();
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
      await abortable(abortable(turn.promise, signal), this.#closing.signal);
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

  #take(): SandboxProcess {
    clearTimeout(this.#idleTimer);
    const spare = this.#spare;
    this.#spare = undefined;
    const sandbox = spare?.usable ? spare : this.#start();
    sandbox.hold(true);
    return sandbox;
  }

  #prepareSpare(): void {
    if (this.#closing.signal.aborted) return;
    clearTimeout(this.#idleTimer);
    this.#idleTimer = setTimeout(() => this.#spare?.[Symbol.dispose](), this.#options.idleMs);
    this.#idleTimer.unref();
    if (this.#spare?.usable) return;
    this.#spare = this.#start();
    this.#spare.hold(false);
  }

  #start(): SandboxProcess {
    const sandbox = new SandboxProcess(this.#options);
    this.#processes.add(sandbox);
    void sandbox.ended.then(() => this.#processes.delete(sandbox));
    return sandbox;
  }
}
