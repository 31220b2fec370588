import { type ChildProcess, spawn } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { Duplex } from 'node:stream';
import { abortable } from '../../base/abort.ts';
import type { Confinement } from '../../base/confined/confinement.ts';
import { lowerPriority } from '../../base/load/priority.ts';
import { limitProcess } from '../../base/load/process-usage.ts';
import { sandboxCommand } from './command.ts';
import { type Job, type OutputLimits, REPORT_FD } from './messages.ts';
import { ForgedReportError, ReportReader, type SandboxRecord } from './report-reader.ts';

export interface SandboxOptions {
  /** Time for the code itself, without what it waits for a processor; in milliseconds. */
  timeoutMs: number;
  memoryMb: number;
  limits: OutputLimits;
  /** Descriptor of the memory snapshot to start from; without it, starting takes ten times as long. */
  snapshot?: number | undefined;
  /** What the system takes from the process before it starts. */
  confinement?: Confinement | undefined;
}

/** Why a run ended other than by itself. */
export type Breakdown = 'timeout' | 'memory_limit' | 'crashed' | 'forged';

export interface SandboxResult extends SandboxRecord {
  breakdown: Breakdown | undefined;
}

/** Loading takes about two seconds of processor time. In milliseconds, without what it waits for a processor. */
const START_TIMEOUT_MS = 60_000;
const START_CPU_SECONDS = 20;
/** What Node and Pyodide take resident beside the memory that Python uses, in MiB. */
const RUNTIME_MEMORY_MB = 320;
/** How much of a broken process's own messages its error shows. */
const LAST_WORDS_CHARACTERS = 2_000;

/**
 * One sandbox process: started early, used for one job, killed afterwards. States: starting -> ready -> running ->
 * ended; `dispose` ends it from any of them.
 */
export class SandboxProcess implements Disposable {
  /** Resolves when the interpreter is loaded; rejects if the process ends before. */
  readonly ready: Promise<void>;
  /** Resolves when the process is gone. Never rejects. */
  readonly ended: Promise<void>;
  readonly #options: SandboxOptions;
  readonly #child: ChildProcess;
  readonly #nonce = randomBytes(24).toString('hex');
  readonly #reader: ReportReader;
  readonly #finished = Promise.withResolvers<void>();
  readonly #loaded = Promise.withResolvers<void>();
  #breakdown: Breakdown | undefined;

  constructor(options: SandboxOptions) {
    this.#options = options;
    this.#reader = new ReportReader(this.#nonce, options.limits);
    const cpuSeconds = START_CPU_SECONDS + options.timeoutMs / 1000;
    const { memoryMb, snapshot, confinement } = options;
    const fromSnapshot = snapshot !== undefined;
    const { file, args } = sandboxCommand('main', { memoryMb, cpuSeconds, fromSnapshot, confinement });
    this.#child = spawn(file, args, {
      env: {},
      cwd: '/',
      stdio: ['pipe', 'ignore', 'pipe', 'pipe', snapshot ?? 'ignore'],
    });
    this.ready = this.#loaded.promise;
    this.ready.catch(() => {});
    this.ended = new Promise((resolve) => {
      this.#child.once('close', () => resolve());
      this.#child.once('error', () => resolve());
    });
    this.#listen();
  }

  get pid(): number | undefined {
    return this.#child.pid;
  }

  /** Whether the process can still take a job. */
  get usable(): boolean {
    return this.#child.exitCode === null && this.#child.signalCode === null && !this.#child.killed;
  }

  /**
   * Runs `code` and ends the process. Rejects with the signal's reason as soon as it aborts; the process is killed then.
   * @throws Error if the interpreter could not be loaded.
   */
  async run(code: string, options: { signal: AbortSignal }): Promise<SandboxResult> {
    try {
      await abortable(this.ready, options.signal);
      // The code stands back behind the gateway. Loading does not: somebody waits for it.
      if (this.#child.pid) lowerPriority(this.#child.pid);
      using _limit = this.#limit(this.#options.timeoutMs);
      const job: Job = { nonce: this.#nonce, code, limits: this.#options.limits };
      this.#child.stdin?.write(`${JSON.stringify(job)}\n`);
      await abortable(this.#finished.promise, options.signal);
      return { ...this.#reader.record, breakdown: this.#breakdown };
    } finally {
      this[Symbol.dispose]();
    }
  }

  /** Whether the process alone keeps the gateway's process alive: a spare one must not. */
  hold(held: boolean): void {
    for (const handle of [this.#child, ...this.#child.stdio]) {
      const change: unknown = handle && Reflect.get(handle, held ? 'ref' : 'unref');
      if (typeof change === 'function') change.call(handle);
    }
  }

  [Symbol.dispose](): void {
    this.#child.kill('SIGKILL');
    this.#finished.resolve();
  }

  #listen(): void {
    const child = this.#child;
    const starting = this.#limit(START_TIMEOUT_MS);
    child.once('error', (error) => {
      this.#loaded.reject(new Error(`the Python sandbox could not be started: ${error.message}`, { cause: error }));
      this.#end('crashed');
    });
    child.once('close', () => {
      starting[Symbol.dispose]();
      this.#loaded.reject(new Error(`the Python sandbox ended before it was loaded: ${lastWords}`));
      if (!this.#reader.record.outcome) this.#end('crashed');
    });
    // Read to the end, whatever it is, so that the process never waits for a reader.
    let lastWords = '';
    child.stderr?.setEncoding('utf8').on('data', (text: string) => {
      lastWords = (lastWords + text).slice(-LAST_WORDS_CHARACTERS);
    });
    // A process that is gone while the job is written says so with its `close`.
    child.stdin?.on('error', () => {});
    const reports = child.stdio[REPORT_FD];
    if (!(reports instanceof Duplex)) return;
    reports.on('error', () => {});
    reports.on('data', (chunk: Buffer) => {
      this.#read(chunk);
      if (this.#reader.ready) starting[Symbol.dispose]();
    });
  }

  #read(chunk: Buffer): void {
    try {
      this.#reader.push(chunk);
    } catch (error) {
      if (!(error instanceof ForgedReportError)) throw error;
      this.#end('forged');
      return;
    }
    if (this.#reader.ready) this.#loaded.resolve();
    if (this.#reader.record.outcome) this.#finished.resolve();
  }

  #limit(timeMs: number): Disposable {
    const memoryBytes = (this.#options.memoryMb + RUNTIME_MEMORY_MB) * 1024 * 1024;
    return limitProcess(this.#child.pid, { timeMs, memoryBytes }, (what) =>
      this.#end(what === 'time' ? 'timeout' : 'memory_limit'),
    );
  }

  /** Ends a run for a reason of the gateway's; the first reason counts. */
  #end(breakdown: Breakdown): void {
    this.#breakdown ??= breakdown;
    this.#child.kill('SIGKILL');
    this.#finished.resolve();
  }
}
