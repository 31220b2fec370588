import type { ChildProcess } from 'node:child_process';
import { spawnConfinedChild } from '../../../base/confined-child.ts';
import { GatewayError } from '../../../base/errors.ts';
import { residentMemory } from '../../../base/resident-memory.ts';
import type { ChildMessage, SchemaJob, SchemaVerdict } from './schema-job.ts';

/** How long a process may take to start, in milliseconds. */
const STARTUP_MS = 10_000;
/** How often the memory of a working process is looked at, in milliseconds. */
const MEMORY_CHECK_MS = 50;
/** Memory of a process, in bytes: what the JavaScript heap may grow to, and what lies outside of it. */
const MAX_MEMORY = 320 * 1024 * 1024;
const HEAP_MB = 128;

/** One child process that works on one schema after the other, until it is ended or breaks. */
export class SchemaProcess implements Disposable {
  readonly #child: ChildProcess;
  readonly #ready = Promise.withResolvers<void>();
  readonly #gone = Promise.withResolvers<void>();
  #answered: ((verdict: SchemaVerdict) => void) | undefined;
  #resting: NodeJS.Timeout | undefined;
  alive = true;

  constructor() {
    this.#child = spawnConfinedChild(new URL('./schema-child.ts', import.meta.url), {
      packages: ['ajv', 'ajv-formats'],
      heapMb: HEAP_MB,
    });
    this.#child.on('message', (message: ChildMessage) => {
      if (message.said === 'ready') this.#ready.resolve();
      else this.#answered?.(message.verdict);
    });
    const gone = () => {
      this.alive = false;
      this.#gone.resolve();
    };
    this.#child.once('exit', gone).once('error', gone).once('disconnect', gone);
    // An idle process does not keep the gateway's alive; a working one does through its timer.
    this.#child.unref();
    this.#child.channel?.unref();
  }

  /**
   * One job. A process that did not end it is ended itself.
   * @throws GatewayError `overloaded` where it does not start, on a machine with too much to do; the signal's reason.
   */
  async run(job: SchemaJob, { jobMs, signal }: { jobMs: number; signal: AbortSignal }): Promise<SchemaVerdict> {
    clearTimeout(this.#resting);
    const { promise, resolve, reject } = Promise.withResolvers<SchemaVerdict>();
    const costly = () => resolve({ is: 'costly' });
    const onAbort = () => reject(signal.reason);
    let timer = setTimeout(() => reject(notStarted()), STARTUP_MS);
    let over = false;
    const start = async () => {
      await Promise.race([this.#ready.promise, this.#gone.promise]);
      if (over) return;
      if (!this.alive) throw notStarted();
      clearTimeout(timer);
      timer = setTimeout(costly, jobMs);
      this.#answered = resolve;
      // Where it is gone from here on, it ran out of memory.
      void this.#gone.promise.then(costly);
      this.#child.send(job, (error) => error && costly());
    };
    const watch = setInterval(async () => {
      const used = this.#child.pid === undefined ? undefined : await residentMemory(this.#child.pid);
      if (used !== undefined && used > MAX_MEMORY) costly();
    }, MEMORY_CHECK_MS);
    signal.addEventListener('abort', onAbort, { once: true });
    start().catch(reject);
    let verdict: SchemaVerdict | undefined;
    try {
      signal.throwIfAborted();
      verdict = await promise;
      return verdict;
    } finally {
      over = true;
      clearTimeout(timer);
      clearInterval(watch);
      this.#answered = undefined;
      signal.removeEventListener('abort', onAbort);
      if (verdict === undefined || verdict.is === 'costly') this[Symbol.dispose]();
    }
  }

  /** Ends the process unless it is used again in time, in milliseconds. */
  rest(ms: number): void {
    this.#resting = setTimeout(() => this[Symbol.dispose](), ms);
    this.#resting.unref();
  }

  [Symbol.dispose](): void {
    clearTimeout(this.#resting);
    this.alive = false;
    this.#child.kill('SIGKILL');
  }
}

function notStarted(): GatewayError {
  return new GatewayError('overloaded', 'The process that checks JSON Schemas did not start in time. Try again.');
}
