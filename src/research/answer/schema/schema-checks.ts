import { createHash } from 'node:crypto';
import { ConfinedPool } from '../../../base/confined/confined-pool.ts';
import { ConfinedWorker, JobFailedError } from '../../../base/confined/confined-worker.ts';
import { GatewayError } from '../../../base/errors.ts';
import type { WorkLimits } from '../../../base/load/process-usage.ts';
import { type SchemaChecker, type SchemaJob, type SchemaVerdict, schemaVerdict } from './schema-job.ts';

export interface SchemaChecksOptions {
  /** Processes at most. Default 2. */
  size?: number;
  /** Jobs waiting for a process at most. Default 1024. */
  maxWaiting?: number;
  /** How long one job may take once it has started, in milliseconds. Default 2 s. */
  jobMs?: number;
  /** How long an idle process is kept, in milliseconds. Default 30 s. */
  idleMs?: number;
}

/** The memory limit of a process, in bytes: its JavaScript heap and what lies outside it. */
const MAX_MEMORY = 320 * 1024 * 1024;
const HEAP_MB = 128;
/** How many valid schemas are remembered, so that they are not compiled again just to be checked. */
const MAX_KNOWN = 256;

/**
 * Child processes that compile and apply JSON Schemas. A small schema can take minutes and gigabytes to compile, and a
 * pattern in it can backtrack forever: neither may block other requests. A thread would not do, because one that runs
 * out of memory takes the whole process down. A child that exceeds its limits is killed; the next job gets a fresh one.
 */
export class SchemaChecks implements SchemaChecker, Disposable {
  readonly #limits: WorkLimits;
  readonly #pool: ConfinedPool<SchemaVerdict>;
  readonly #known = new Set<string>();

  constructor({ size = 2, maxWaiting = 1024, jobMs = 2000, idleMs = 30_000 }: SchemaChecksOptions = {}) {
    this.#limits = { timeMs: jobMs, memoryBytes: MAX_MEMORY };
    this.#pool = new ConfinedPool({
      name: 'schema_checks',
      permits: size,
      maxWaiting,
      fullError: busy,
      start: startChecker,
      idleMs,
    });
  }

  async check(job: SchemaJob, { signal }: { signal: AbortSignal }): Promise<SchemaVerdict> {
    signal.throwIfAborted();
    const name = job.value === undefined ? nameOf(job) : undefined;
    if (name !== undefined && this.#known.has(name)) return { is: 'valid' };
    const verdict = await this.#inChild(job, signal);
    if (name !== undefined && verdict.is === 'valid') this.#remember(name);
    return verdict;
  }

  [Symbol.dispose](): void {
    this.#pool[Symbol.dispose]();
  }

  async #inChild(job: SchemaJob, signal: AbortSignal): Promise<SchemaVerdict> {
    try {
      return await this.#pool.run(job, { limits: this.#limits, signal });
    } catch (error) {
      if (!(error instanceof JobFailedError)) throw error;
      if (error.kind === 'not_started') throw busy();
      // A child that died in the middle of a job ran out of memory.
      return { is: 'costly' };
    }
  }

  #remember(name: string): void {
    if (this.#known.size >= MAX_KNOWN) this.#known.clear();
    this.#known.add(name);
  }
}

function startChecker(): ConfinedWorker<SchemaVerdict> {
  return new ConfinedWorker(new URL('./schema-child.ts', import.meta.url), {
    packages: ['ajv', 'ajv-formats'],
    heapMb: HEAP_MB,
    read: (message) => schemaVerdict.safeParse(message).data,
  });
}

function busy(): GatewayError {
  return new GatewayError('overloaded', 'Too many JSON Schemas are being checked. Try again.');
}

function nameOf({ schema }: SchemaJob): string {
  return createHash('sha256').update(JSON.stringify(schema)).digest('base64');
}
