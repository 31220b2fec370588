import { type Job, Queue, WaitingError, Worker } from 'bullmq';
import { sleep, withTimeout } from '../../base/abort.ts';
import { messageOf } from '../../base/errors.ts';
import type { RunId } from '../../base/ids.ts';
import type { QueueConnection } from '../../store/open.ts';
import type { ExecutionResult } from './driving/run-driver.ts';
import { Executor } from './executor.ts';
import type { ExecutorOptions } from './executor-options.ts';

const QUEUE = 'runs';
/** A job whose lock is not renewed for this long goes to another instance, in milliseconds. */
const LOCK_MS = 4000;
/** How often BullMQ looks for active jobs whose lock has expired, in milliseconds. */
const STALLED_MS = 500;
/** How often free runs without a job are looked for, in milliseconds; at most `SWEEP_LIMIT` at a time. */
const SWEEP_MS = 10_000;
/** How often runs with expired claims are looked for, in milliseconds: most of them never had a job. */
const ABANDONED_POLL_MS = 250;
/** How many of these runs are taken over at a time; other instances may take the next ones. */
const MAX_TAKEOVERS = 32;
const SWEEP_LIMIT = 500;
/** How long adding jobs may take, in milliseconds. */
const ENQUEUE_MS = 5000;
/** How long a job waits here for room, in milliseconds, before it is put off so that another instance can take it. */
const ROOM_WAIT_MS = 1000;
/** How long a job that could not be worked on is put off, in milliseconds. */
const RETRY_MS = 1000;
/**
 * How long a worker waits for a job's notification before it polls, in seconds. A worker that froze or stopped may have
 * consumed the notification.
 */
const JOB_POLL_SECONDS = 1;
/** How long each step of closing the queue may take, in milliseconds. */
const CLOSE_MS = 1000;
/** A store that answers within this counts as quick, in milliseconds. */
const QUICK_MS = 250;
/** Failures of the queue are logged at most this often, in milliseconds. */
const COMPLAIN_MS = 5000;

/** A job is retried for ever and removed when done. The store counts the attempts that matter. */
const JOB_OPTIONS = {
  attempts: 1_000_000_000,
  backoff: { type: 'fixed', delay: RETRY_MS },
  removeOnComplete: true,
  removeOnFail: true,
  stackTraceLimit: 0,
} as const;

export interface QueueExecutorOptions extends ExecutorOptions {
  connection: QueueConnection;
  /** How often free runs without a job are looked for, in milliseconds. */
  sweepMs?: number;
}

/**
 * The executor for several instances. A run begins where it was submitted if there is room. Otherwise a job is queued, and
 * BullMQ gives each job to one instance: there are as many jobs as runs, and the store decides which run is next, so that
 * keys take turns. The queue says who should run; only the store's claim says who can write. Free runs without a job, left
 * by a dead instance or forgotten by the queue, are looked for in the store; a surplus job finds no run and is done.
 */
export class QueueExecutor extends Executor {
  readonly #queueOptions: QueueExecutorOptions;
  readonly #queue: Queue;
  readonly #worker: Worker;
  /** Work under way, awaited at shutdown. */
  readonly #working = new Set<Promise<void>>();
  #changes: Disposable | undefined;
  #sweeping: Promise<unknown> | undefined;
  #complainedAt = Number.NEGATIVE_INFINITY;

  constructor(options: QueueExecutorOptions) {
    super(options);
    this.#queueOptions = options;
    const { client: connection, prefix } = options.connection;
    // The store has checked the Redis version already; a user without permission to read it must work, too.
    const common = { connection, prefix, skipVersionCheck: true };
    this.#queue = new Queue(QUEUE, { ...common, defaultJobOptions: JOB_OPTIONS });
    this.#worker = new Worker(QUEUE, (job, token) => this.#track(this.#work(job, token)), {
      ...common,
      autorun: false,
      concurrency: options.maxConcurrent,
      lockDuration: LOCK_MS,
      stalledInterval: STALLED_MS,
      maxStalledCount: Number.MAX_SAFE_INTEGER,
      drainDelay: JOB_POLL_SECONDS,
      runRetryDelay: RETRY_MS,
    });
    this.#queue.on('error', (error) => this.#reportFailure(error));
    this.#worker.on('error', (error) => this.#reportFailure(error));
  }

  async start(): Promise<void> {
    this.#changes = this.options.store.onChange((change) => {
      if (change.type === 'cancel') this.cancel(change.id);
    });
    this.#worker.run().catch((error: unknown) => this.#reportFailure(error));
    const { sweepMs = SWEEP_MS } = this.#queueOptions;
    this.#sweeping = Promise.all([
      this.#poll(
        (before) => this.#sweep(before),
        () => sweepMs * (0.75 + Math.random() / 2),
      ),
      this.#poll(
        (before) => this.#takeOverAbandoned(before),
        () => ABANDONED_POLL_MS,
      ),
    ]);
  }

  wake(id: RunId): void {
    this.#enqueue([id]).catch((error: unknown) => this.#reportFailure(error));
  }

  async stop({ graceMs }: { graceMs: number }): Promise<void> {
    this.stopping.abort(new Error('the gateway shuts down'));
    this.#changes?.[Symbol.dispose]();
    // If Redis is away or slow, the locks expire, and closing the connection ends the rest.
    const inTime = async (what: string, work: Promise<unknown>) => {
      await withTimeout(what, CLOSE_MS, () => work).catch((error: unknown) => this.#reportFailure(error));
    };
    // Reserve only as much of the grace time as a store that answers needs.
    const closingMs = (await this.#storeIsQuick()) ? Math.min(2 * CLOSE_MS, graceMs / 10) : 2 * CLOSE_MS;
    await Promise.all([
      inTime('pausing the queue', this.#worker.pause(true)),
      this.handOver({ graceMs: Math.max(0, graceMs - closingMs) }),
    ]);
    await inTime('the last sweep', Promise.resolve(this.#sweeping));
    // A job that is returned goes to another instance at once; one whose lock expires, seconds later.
    await inTime('returning jobs to the queue', Promise.allSettled(this.#working));
    await inTime('closing the queue', Promise.all([this.#worker.close(true), this.#queue.close()]));
  }

  async #storeIsQuick(): Promise<boolean> {
    const answer = withTimeout('the store', QUICK_MS, () => this.options.store.countOpen());
    return await answer.then(
      () => true,
      () => false,
    );
  }

  /**
   * Adds jobs; for a run that has one already, nothing changes. Adds them one by one because `addBulk` keeps failing after
   * a restart of Redis, which forgets the scripts that its transaction names.
   */
  async #enqueue(ids: readonly RunId[]): Promise<void> {
    await Promise.all(ids.map((id) => this.#queue.add('run', {}, { jobId: id })));
  }

  async #track(work: Promise<void>): Promise<void> {
    this.#working.add(work);
    try {
      await work;
    } finally {
      this.#working.delete(work);
    }
  }

  /**
   * Works on one job, which is a turn: it is done once the run whose turn it was is no longer driven here, or if there is
   * none. Without room it returns to the queue. A delay is waited out here because the queue would time it by the clocks
   * of instances.
   */
  async #work(job: Job, token: string | undefined): Promise<void> {
    const { signal } = this.stopping;
    try {
      const hasRoom = await this.capacity.waitToStart(ROOM_WAIT_MS, () => this.active, { signal });
      if (!hasRoom) throw new Error('this instance is at capacity');
      const run = await this.#startNext(job.id);
      await run?.done;
      return;
    } catch (thrown) {
      this.options.log.debug({ run: job.id, reason: messageOf(thrown) }, 'a job was put off');
      await sleep(RETRY_MS, { signal }).catch(() => {});
    }
    await job.moveToWait(token);
    throw new WaitingError();
  }

  /** Claims the run whose turn it is, or the one of the job's id in case no index has it, and drives it. */
  async #startNext(id: RunId | undefined): Promise<{ done: Promise<ExecutionResult> } | undefined> {
    using _ = this.holdPlace();
    const claim =
      (await this.claimNext({ queued: true })) ?? (id === undefined ? undefined : await this.claimAbandoned(id));
    if (!claim) return undefined;
    this.capacity.noteWait(this.options.clock.now() - claim.run.createdAt);
    return { done: this.drive(claim) };
  }

  /** Continues runs whose owner died or released them. `before`: those that were abandoned at the last look. */
  async #takeOverAbandoned(before: ReadonlySet<RunId>): Promise<ReadonlySet<RunId>> {
    const abandoned = await this.options.store.findClaimable({ limit: SWEEP_LIMIT, abandoned: true });
    // A run seen only once may be about to be claimed again by a live owner whose store was away.
    const known = abandoned.filter((id) => before.has(id)).slice(0, MAX_TAKEOVERS);
    await Promise.all(known.map((id) => this.#takeOverFree(id)));
    return new Set(abandoned);
  }

  /** Claims a free run and drives it without the queue: it was admitted long ago, so load does not hold it back. */
  async #takeOverFree(id: RunId): Promise<void> {
    if (this.stopping.signal.aborted || !this.capacity.canResume(this.active)) return;
    using _ = this.holdPlace();
    const claim = await this.claimAbandoned(id);
    if (claim) void this.drive(claim);
  }

  /** Calls `look` periodically, each time with what it found before. */
  async #poll(look: (before: ReadonlySet<RunId>) => Promise<ReadonlySet<RunId>>, pauseMs: () => number): Promise<void> {
    const { signal } = this.stopping;
    let before: ReadonlySet<RunId> = new Set();
    while (!signal.aborted) {
      try {
        before = await look(before);
      } catch (error) {
        this.outage.noteFailure(error);
        this.#reportFailure(error);
      }
      await sleep(pauseMs(), { signal }).catch(() => {});
    }
  }

  /**
   * Gives each free run a job. A run that was free `before` too, although there is room here, is driven without one: the
   * queue does not work then.
   */
  async #sweep(before: ReadonlySet<RunId>): Promise<ReadonlySet<RunId>> {
    const { store, log } = this.options;
    const free = await store.findClaimable({ limit: SWEEP_LIMIT });
    for (const id of free) {
      if (!before.has(id) || this.stopping.signal.aborted || !this.capacity.tryStart(this.active)) continue;
      const claim = await this.claimAbandoned(id);
      if (!claim) continue;
      log.warn({ run: id }, 'the queue did not assign a run; it is driven without a job');
      void this.drive(claim);
    }
    const { signal } = this.stopping;
    await withTimeout('the sweep', ENQUEUE_MS, () => this.#enqueue(free), { signal }).catch((error: unknown) =>
      this.#reportFailure(error),
    );
    return new Set(free);
  }

  #reportFailure(error: unknown): void {
    this.#queueOptions.connection.onFailure(error);
    const now = performance.now();
    if (now - this.#complainedAt < COMPLAIN_MS || this.stopping.signal.aborted) return;
    this.#complainedAt = now;
    this.options.log.warn({ err: messageOf(error) }, 'the queue of runs failed');
  }
}
