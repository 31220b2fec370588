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
  /** The time limit of the code itself, in milliseconds, without the time that it waits for a CPU. */
  timeoutMs: number;
  memoryMb: number;
  limits: OutputLimits;
  /** Descriptor of the memory snapshot to start from; without it, starting takes ten times as long. */
  snapshot?: number | undefined;
  /** How the system confines the process. */
  confinement?: Confinement | undefined;
}

/** Why a run was stopped or broke down. */
export type SandboxFailure = 'timeout' | 'memory_limit' | 'crashed' | 'forged';

export interface SandboxResult extends SandboxRecord {
  failure: SandboxFailure | undefined;
}

/** The time limit of loading, in milliseconds, without waiting for a CPU. Loading takes about two seconds of CPU time. */
const START_TIMEOUT_MS = 60_000;
const START_CPU_SECONDS = 20;
/** The resident memory of Node and Pyodide beside that of Python, in MiB. */
const RUNTIME_MEMORY_MB = 320;
/** How much of a process's last output its error quotes. */
const MAX_STDERR_TAIL = 2_000;

/**
 * One sandbox process: started early, used for one job, killed afterwards. States: starting -> ready -> running ->
 * ended; `dispose` ends it from any of them.
 */
export class SandboxProcess implements Disposable {
  /** Resolves when the interpreter is loaded; rejects if the process ends before. */
  readonly ready: Promise<void>;
  /** Resolves when the process has exited. Never rejects. */
  readonly ended: Promise<void>;
  readonly #options: SandboxOptions;
  readonly #child: ChildProcess;
  readonly #nonce = randomBytes(24).toString('hex');
  readonly #reader: ReportReader;
  readonly #finished = Promise.withResolvers<void>();
  readonly #loaded = Promise.withResolvers<void>();
  #failure: SandboxFailure | undefined;

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
      // In a session of its own, as `spawnConfinedChild`.
      detached: process.platform !== 'win32',
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
   * Runs `code` and ends the process. If the signal aborts, kills the process and rejects with the signal's reason at once.
   * @throws Error if the interpreter could not be loaded.
   */
  async run(code: string, options: { signal: AbortSignal }): Promise<SandboxResult> {
    try {
      await abortable(this.ready, options.signal);
      // The code yields to the gateway. Loading does not, because somebody waits for it.
      if (this.#child.pid) lowerPriority(this.#child.pid);
      using _limit = this.#limit(this.#options.timeoutMs);
      const job: Job = { nonce: this.#nonce, code, limits: this.#options.limits };
      this.#child.stdin?.write(`${JSON.stringify(job)}\n`);
      await abortable(this.#finished.promise, options.signal);
      return { ...this.#reader.record, failure: this.#failure };
    } finally {
      this[Symbol.dispose]();
    }
  }

  /** Sets whether this process keeps the gateway's process alive: a spare one must not. */
  keepAlive(isKept: boolean): void {
    for (const handle of [this.#child, ...this.#child.stdio]) {
      const change: unknown = handle && Reflect.get(handle, isKept ? 'ref' : 'unref');
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
      this.#loaded.reject(new Error(`the Python sandbox ended before it was loaded: ${stderrTail}`));
      if (!this.#reader.record.outcome) this.#end('crashed');
    });
    // All output is read, so that the process never blocks on a full pipe.
    let stderrTail = '';
    child.stderr?.setEncoding('utf8').on('data', (text: string) => {
      stderrTail = (stderrTail + text).slice(-MAX_STDERR_TAIL);
    });
    // If the process exits while the job is written, its `close` event reports it.
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

  /** Kills the process; only the first failure is recorded. */
  #end(failure: SandboxFailure): void {
    this.#failure ??= failure;
    this.#child.kill('SIGKILL');
    this.#finished.resolve();
  }
}
