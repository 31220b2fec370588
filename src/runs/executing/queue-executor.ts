import { type Job, Queue, WaitingError, Worker } from 'bullmq';
import { sleep, withTimeout } from '../../base/abort.ts';
import { messageOf } from '../../base/errors.ts';
import type { RunId } from '../../base/ids.ts';
import type { QueueConnection } from '../../store/open.ts';
import type { Claim } from '../../store/run-store.ts';
import type { ExecutionResult } from './driving/run-driver.ts';
import { Executor } from './executor.ts';
import type { ExecutorOptions } from './executor-options.ts';

const QUEUE = 'runs';
/** See `QueueExecutorOptions.lockMs`. */
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
/**
 * How long a job waits at first for the claim on its run to expire, in milliseconds. After that the job is put off: the
 * owner is alive, and only lost the job's lock while Redis was away.
 */
const LEASE_WAIT_MS = 1500;
const LEASE_POLL_MS = 100;
const MAX_HELD_ELSEWHERE = 10_000;
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

/** A job is a turn: whoever works on it takes the run whose turn it is, and from then on it is that run's job. */
interface JobData {
  /** The run was under way before it got its job: it was admitted long ago, so load does not hold it back. */
  begun: boolean;
  /** The job's run; if absent, the one that the job's id names. */
  run?: RunId;
}

export interface QueueExecutorOptions extends ExecutorOptions {
  connection: QueueConnection;
  /** How often free runs without a job are looked for, in milliseconds. */
  sweepMs?: number;
  /** A job whose lock is not renewed for this long goes to another instance, in milliseconds. */
  lockMs?: number;
}

/**
 * The executor for several instances. A run begins where it was submitted if there is room. Otherwise a job is queued, and
 * BullMQ gives each job to one instance: there are as many jobs as runs, and the store decides which run is next, so that
 * keys take turns. The queue says who should run; only the store's claim says who can write. Free runs without a job, left
 * by a dead instance or forgotten by the queue, are looked for in the store; a surplus job finds no run and is done.
 */
export class QueueExecutor extends Executor {
  readonly #queueOptions: QueueExecutorOptions;
  readonly #queue: Queue<JobData>;
  readonly #worker: Worker<JobData>;
  /** Runs whose jobs were put off here because another instance held the claim. */
  readonly #heldElsewhere = new Set<RunId>();
  readonly #runOf = new Map<string, RunId>();
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
      lockDuration: options.lockMs ?? LOCK_MS,
      stalledInterval: STALLED_MS,
      maxStalledCount: Number.MAX_SAFE_INTEGER,
      drainDelay: JOB_POLL_SECONDS,
      runRetryDelay: RETRY_MS,
    });
    this.#queue.on('error', (error) => this.#reportFailure(error));
    this.#worker.on('error', (error) => this.#reportFailure(error));
    this.#worker.on('lockRenewalFailed', (jobs) => {
      // The lock may have expired only because Redis was away; renewing the claim shows whether the run was taken over.
      for (const job of jobs) void this.renewLease(this.#runOf.get(job) ?? job);
    });
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

  protected override onStarted(id: RunId, done: Promise<ExecutionResult>): void {
    void this.#track(this.#enqueueUnlessEnded(id, done));
  }

  /** After driving a run that has no job: if it has not ended, queues one, so that another instance continues it. */
  async #enqueueUnlessEnded(id: RunId, done: Promise<ExecutionResult>): Promise<void> {
    if ((await done) === 'ended') return;
    await this.#enqueue([id], { begun: true }).catch((error: unknown) => this.#reportFailure(error));
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
   * a restart of Redis, which forgets the scripts that its transaction names. `begun`: see `JobData`.
   */
  async #enqueue(ids: readonly RunId[], { begun = false } = {}): Promise<void> {
    const data: JobData = { begun };
    await Promise.all(ids.map((id) => this.#queue.add('run', data, { jobId: id })));
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
   * Works on one job: done if its run needs no job any more, else returned to the queue. A delay is waited out here because
   * the queue would time it by the clocks of instances.
   */
  async #work(job: Job<JobData>, token: string | undefined): Promise<void> {
    const { signal } = this.stopping;
    try {
      if ((await this.#driveFor(job)) === 'done') return;
    } catch (thrown) {
      this.options.log.debug({ run: job.id, reason: messageOf(thrown) }, 'a job was put off');
      await sleep(RETRY_MS, { signal }).catch(() => {});
    } finally {
      if (job.id !== undefined) this.#runOf.delete(job.id);
    }
    await job.moveToWait(token);
    // This worker takes no more jobs but may consume the notification of this one: notify again.
    if (signal.aborted) {
      await this.#queueOptions.connection.client.sendCommand(['ZADD', this.#queue.toKey('marker'), '0', '0']);
    }
    throw new WaitingError();
  }

  /** @throws if the job should be put off. */
  async #driveFor(job: Job<JobData>): Promise<'done' | 'returned'> {
    const { signal } = this.stopping;
    const room =
      (job.data.begun && this.capacity.canResume(this.active)) ||
      (await this.capacity.waitToStart(ROOM_WAIT_MS, () => this.active, { signal }));
    if (!room) throw new Error('this instance is at capacity');
    const started = await this.#startFor(job);
    if (started === 'ended') return 'done';
    if (started === 'not now') return 'returned';
    const result = await started.done;
    if (result === 'lost') throw new Error('the run has another owner, or the store is away');
    return result === 'ended' ? 'done' : 'returned';
  }

  /** Claims a run and drives it. @throws if a live owner holds it. */
  async #startFor(job: Job<JobData>): Promise<{ done: Promise<ExecutionResult> } | 'ended' | 'not now'> {
    using _ = this.holdPlace();
    const claim = await (job.data.begun ? this.#claimBegun(job) : this.#claimForTurn(job));
    if (typeof claim === 'string') return claim;
    this.capacity.noteWait(this.options.clock.now() - claim.run.createdAt);
    return { done: this.drive(claim) };
  }

  /** Claims the run whose turn it is, and makes this its job. Falls back to the run of the job's id, in case no index has it. */
  async #claimForTurn(job: Job<JobData>): Promise<Claim | 'ended'> {
    const claim =
      (await this.claimNext({ queued: true })) ??
      (job.id === undefined ? undefined : await this.claim(job.id, { force: false }));
    if (!claim) return 'ended';
    if (job.id !== undefined) this.#runOf.set(job.id, claim.run.id);
    const data: JobData = { begun: true, run: claim.run.id };
    job.updateData(data).catch((error: unknown) => this.#reportFailure(error));
    return claim;
  }

  async #claimBegun({ id, data }: Job<JobData>): Promise<Claim | 'ended' | 'not now'> {
    const run = data.run ?? id;
    return run === undefined
      ? 'ended'
      : await this.#claimWithin(run, { waitMs: this.#heldElsewhere.has(run) ? 0 : LEASE_WAIT_MS });
  }

  /** Claims a run, waiting up to `waitMs` for a dead owner's claim to expire. @throws if a live owner holds it. */
  async #claimWithin(id: RunId, { waitMs }: { waitMs: number }): Promise<Claim | 'ended' | 'not now'> {
    const { store } = this.options;
    const deadline = performance.now() + waitMs;
    const held = this.#heldElsewhere;
    while (!this.stopping.signal.aborted) {
      const claim = await this.claimAbandoned(id);
      const run = claim ? undefined : await store.get(id);
      const result = claim ?? (!run || run.endedAt !== null ? 'ended' : undefined);
      if (result) {
        held.delete(id);
        return result;
      }
      if (performance.now() > deadline) {
        if (held.size >= MAX_HELD_ELSEWHERE) held.clear();
        held.add(id);
        throw new Error('the run is held by another instance');
      }
      await sleep(LEASE_POLL_MS, { signal: this.stopping.signal }).catch(() => {});
    }
    return 'not now';
  }

  /** Continues runs whose owner died or released them. `before`: those that were abandoned at the last look. */
  async #takeOverAbandoned(before: ReadonlySet<RunId>): Promise<ReadonlySet<RunId>> {
    const abandoned = await this.options.store.findClaimable({ limit: SWEEP_LIMIT, abandoned: true });
    // A run seen only once may be about to be claimed again by a live owner whose store was away.
    for (const id of abandoned.filter((each) => before.has(each)).slice(0, MAX_TAKEOVERS)) await this.#takeOverFree(id);
    return new Set(abandoned);
  }

  /** Claims a free run and drives it without the queue: it was admitted long ago, so load does not hold it back. */
  async #takeOverFree(id: RunId): Promise<void> {
    if (this.stopping.signal.aborted || !this.capacity.canResume(this.active)) return;
    using _ = this.holdPlace();
    const claim = await this.claimAbandoned(id);
    if (claim) void this.#track(this.#enqueueUnlessEnded(id, this.drive(claim)));
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
