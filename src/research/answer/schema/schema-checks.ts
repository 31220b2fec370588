import { createHash } from 'node:crypto';
import { linkSignals, TimeoutError } from '../../../base/abort.ts';
import { GatewayError } from '../../../base/errors.ts';
import { workOwner } from '../../../base/event-loop.ts';
import { FairTurns } from '../../../base/fair-turns.ts';
import type { SchemaChecker, SchemaJob, SchemaVerdict } from './schema-job.ts';
import { SchemaProcess } from './schema-process.ts';

export interface SchemaChecksOptions {
  /** Processes at most. Default 2. */
  size?: number;
  /** Jobs waiting for a process at most. Default 64. */
  maxWaiting?: number;
  /** How long one job may take once it has begun, in milliseconds. Default 2 s. */
  jobMs?: number;
  /** How long an idle process is kept, in milliseconds. Default 30 s. */
  idleMs?: number;
}

/** How long a job waits for a process, in milliseconds. */
const WAIT_MS = 15_000;
/** Schemas that were found good and are not compiled again to be told so. */
const MAX_KNOWN = 256;

/**
 * Child processes that compile and apply JSON Schemas. A small schema can take minutes and gigabytes to compile, and a
 * pattern in it can be endless: neither may hold up anybody else. A thread would not do: one that runs out of memory
 * takes the whole process with it. A process that takes too long or too much is ended, the next job gets a fresh one.
 */
export class SchemaChecks implements SchemaChecker, Disposable {
  readonly #jobMs: number;
  readonly #idleMs: number;
  readonly #idle: SchemaProcess[] = [];
  readonly #known = new Set<string>();
  readonly #working = new Set<SchemaProcess>();
  readonly #turns: FairTurns;

  constructor({ size = 2, maxWaiting = 64, jobMs = 2000, idleMs = 30_000 }: SchemaChecksOptions = {}) {
    this.#turns = new FairTurns({ places: size, maxWaiting, full: busy });
    this.#jobMs = jobMs;
    this.#idleMs = idleMs;
  }

  async check(job: SchemaJob, { signal }: { signal: AbortSignal }): Promise<SchemaVerdict> {
    signal.throwIfAborted();
    const name = job.value === undefined ? nameOf(job) : undefined;
    if (name !== undefined && this.#known.has(name)) return { is: 'fits' };
    const verdict = await this.#inTurn(signal, (child) => child.run(job, { jobMs: this.#jobMs, signal }));
    if (name !== undefined && verdict.is === 'fits') this.#remember(name);
    return verdict;
  }

  [Symbol.dispose](): void {
    for (const child of [...this.#idle.splice(0), ...this.#working]) child[Symbol.dispose]();
  }

  async #inTurn<T>(signal: AbortSignal, work: (child: SchemaProcess) => Promise<T>): Promise<T> {
    using _place = await this.#turn(signal);
    const child = this.#takeIdle() ?? new SchemaProcess();
    this.#working.add(child);
    try {
      return await work(child);
    } finally {
      this.#working.delete(child);
      this.#keep(child);
    }
  }

  async #turn(signal: AbortSignal): Promise<Disposable> {
    using limited = linkSignals([signal], { what: 'waiting for a schema check', timeoutMs: WAIT_MS });
    try {
      return await this.#turns.enter(workOwner(), limited.signal);
    } catch (error) {
      throw error instanceof TimeoutError ? busy() : error;
    }
  }

  #takeIdle(): SchemaProcess | undefined {
    for (let child = this.#idle.pop(); child; child = this.#idle.pop()) if (child.alive) return child;
    return undefined;
  }

  #keep(child: SchemaProcess): void {
    if (!child.alive) return;
    this.#idle.push(child);
    child.rest(this.#idleMs);
  }

  #remember(name: string): void {
    if (this.#known.size >= MAX_KNOWN) this.#known.clear();
    this.#known.add(name);
  }
}

function busy(): GatewayError {
  return new GatewayError('overloaded', 'Too many JSON Schemas are being checked. Try again.');
}

function nameOf({ schema }: SchemaJob): string {
  return createHash('sha256').update(JSON.stringify(schema)).digest('base64');
}
