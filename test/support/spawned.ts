import { type ChildProcess, type SpawnOptions, spawn } from 'node:child_process';
import { once } from 'node:events';

/** A child process whose output is recorded and can be awaited. Killed when disposed. */
export class Spawned implements AsyncDisposable {
  readonly child: ChildProcess;
  readonly output = { out: '', err: '' };
  readonly #closed: Promise<number | null>;
  readonly #waiting = new Set<() => void>();

  constructor(command: string, args: readonly string[], options: SpawnOptions = {}) {
    this.child = spawn(command, args, { ...options, stdio: ['ignore', 'pipe', 'pipe'] });
    this.child.stdout?.on('data', (chunk: Buffer) => this.#add('out', chunk));
    this.child.stderr?.on('data', (chunk: Buffer) => this.#add('err', chunk));
    this.#closed = once(this.child, 'close').then(([code]) => code);
  }

  /** The exit code, once all output has been read. */
  closed(): Promise<number | null> {
    return this.#closed;
  }

  /** Resolves once `pattern` was written to standard output or standard error; rejects where the process ends first. */
  async shown(pattern: RegExp): Promise<void> {
    const matches = () => pattern.test(this.output.out) || pattern.test(this.output.err);
    if (matches()) return;
    const seen = Promise.withResolvers<void>();
    const check = () => {
      if (matches()) seen.resolve();
    };
    this.#waiting.add(check);
    const ended = this.#closed.then(() => {
      if (!matches()) throw new Error(`ended without showing ${pattern}: ${this.output.err}`);
    });
    await Promise.race([seen.promise, ended]).finally(() => this.#waiting.delete(check));
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.child.kill('SIGKILL');
    await this.#closed;
  }

  #add(stream: 'out' | 'err', chunk: Buffer): void {
    this.output[stream] += chunk.toString();
    for (const check of this.#waiting) check();
  }
}
