import { type Job, Queue, WaitingError, Worker } from 'bullmq';
import { sleep, withTimeout } from '../../base/abort.ts';
import { messageOf } from '../../base/errors.ts';
import type { RunId } from '../../base/ids.ts';
import type { QueueConnection } from '../../store/open.ts';
import type { Claim } from '../../store/run-store.ts';
import { ActiveRuns } from './active-runs.ts';
import type { ExecutionResult } from './driving/run-driver.ts';
import type { ExecutorOptions } from './executor.ts';

const QUEUE = 'runs';
/** See `QueueExecutorOptions.lockMs`. */
const LOCK_MS = 4000;
/** How often jobs without a lock are looked for, in milliseconds. */
const STALLED_MS = 500;
/** How often free runs without a job are looked for, in milliseconds; at most `SWEEP_LIMIT` at a time. */
const SWEEP_MS = 10_000;
/** How often runs are looked for whose claims have just run out, in milliseconds: most of them never had a job. */
const LOOK_MS = 250;
/** How many of them are taken up at a time; the next ones may be another instance's. */
const TAKEN_AT_ONCE = 32;
const SWEEP_LIMIT = 500;
/** How long adding jobs may take, in milliseconds. */
const ENQUEUE_MS = 5000;
/**
 * How long a run whose claim is about to run out is waited for at first, in milliseconds. Its job is put off then: its
 * owner lives, and only lost its lock while Redis was away.
 */
const HELD_MS = 1500;
const HELD_LOOK_MS = 100;
const MOST_HELD = 10_000;
/** How long a job waits here for room before it is put off, so that another instance may take it, in milliseconds. */
const HELD_BACK_MS = 1000;
/** How long a job is put off that could not be worked on, in milliseconds. */
const RETRY_MS = 1000;
/**
 * How long a worker waits for the news of a job before it looks by itself, in seconds. One that is frozen or stops may
 * have taken the news with it.
 */
const LOOK_SECONDS = 1;
/** How long each step of closing the queue may take, in milliseconds. */
const CLOSE_MS = 1000;
/** A store that answers within this is not slow, in milliseconds. */
const QUICK_MS = 250;
/** Failures of the queue are logged at most this often, in milliseconds. */
const COMPLAIN_MS = 5000;

/** How a job lives: gone when it is done, tried again for ever. The store counts the attempts that matter. */
const JOB_OPTIONS = {
  attempts: 1_000_000_000,
  backoff: { type: 'fixed', delay: RETRY_MS },
  removeOnComplete: true,
  removeOnFail: true,
  stackTraceLimit: 0,
} as const;

/** A job is a turn: whoever works on it takes the run whose turn it is. From then on it is the job of that run. */
interface JobData {
  /** The job's run was under way when it got its job: it was let in long ago, and waits for nobody's load. */
  begun: boolean;
  /** The job's run; the one of the job's own id where absent. */
  run?: RunId;
}

export interface QueueExecutorOptions extends ExecutorOptions {
  connection: QueueConnection;
  /** How often free runs without a job are looked for, in milliseconds. */
  sweepMs?: number;
  /** A job whose lock is not renewed for this long is given to another instance, in milliseconds. */
  lockMs?: number;
}

/**
 * The executor of several instances. A run begins where it was submitted if there is room; the others wait for a job,
 * which BullMQ gives to one instance each: as many jobs as runs, and the store says which run is next, so that keys take
 * turns. The queue says who should run; the store's claim, and nothing else, says who can write. Free runs without a job,
 * of an instance that died or that the queue forgot, are looked for in the store; a job too many finds no run and goes
 * away.
 */
export class QueueExecutor extends ActiveRuns {
  readonly #queueOptions: QueueExecutorOptions;
  readonly #queue: Queue<JobData>;
  readonly #worker: Worker<JobData>;
  /** Runs whose jobs came here while another instance held them, and were put off. */
  readonly #heldElsewhere = new Set<RunId>();
  readonly #runOf = new Map<string, RunId>();
  /** Jobs that are worked on. */
  readonly #working = new Set<Promise<void>>();
  #changes: Disposable | undefined;
  #sweeping: Promise<unknown> | undefined;
  #complainedAt = Number.NEGATIVE_INFINITY;

  constructor(options: QueueExecutorOptions) {
    super(options);
    this.#queueOptions = options;
    const { client: connection, prefix } = options.connection;
    // The store has looked at the version; a user without the right to ask for it is enough.
    const common = { connection, prefix, skipVersionCheck: true };
    this.#queue = new Queue(QUEUE, { ...common, defaultJobOptions: JOB_OPTIONS });
    this.#worker = new Worker(QUEUE, (job, token) => this.#watched(this.#work(job, token)), {
      ...common,
      autorun: false,
      concurrency: options.maxConcurrent,
      lockDuration: options.lockMs ?? LOCK_MS,
      stalledInterval: STALLED_MS,
      maxStalledCount: Number.MAX_SAFE_INTEGER,
      drainDelay: LOOK_SECONDS,
      runRetryDelay: RETRY_MS,
    });
    this.#queue.on('error', (error) => this.#failed(error));
    this.#worker.on('error', (error) => this.#failed(error));
    this.#worker.on('lockRenewalFailed', (jobs) => {
      // The lock may only have run out while Redis was away: whether the run was taken over, its claim tells.
      for (const job of jobs) void this.confirm(this.#runOf.get(job) ?? job);
    });
  }

  async start(): Promise<void> {
    this.#changes = this.options.store.onChange((change) => {
      if (change.type === 'cancel') this.cancel(change.id);
    });
    this.#worker.run().catch((error: unknown) => this.#failed(error));
    const { sweepMs = SWEEP_MS } = this.#queueOptions;
    this.#sweeping = Promise.all([
      this.#lookAgain(
        (before) => this.#sweep(before),
        () => sweepMs * (0.75 + Math.random() / 2),
      ),
      this.#lookAgain(
        (before) => this.#look(before),
        () => LOOK_MS,
      ),
    ]);
  }

  protected override driving(id: RunId, done: Promise<ExecutionResult>): void {
    void this.#watched(this.#goOnElsewhere(id, done));
  }

  /** A run without a job: whoever is to go on with it has to be told by one. */
  async #goOnElsewhere(id: RunId, done: Promise<ExecutionResult>): Promise<void> {
    if ((await done) === 'ended') return;
    await this.#enqueue([id], { begun: true }).catch((error: unknown) => this.#failed(error));
  }

  wake(id: RunId): void {
    this.#enqueue([id]).catch((error: unknown) => this.#failed(error));
  }

  async stop({ graceMs }: { graceMs: number }): Promise<void> {
    this.stopping.abort(new Error('the gateway shuts down'));
    this.#changes?.[Symbol.dispose]();
    // Redis may be away or slow: then the locks run out, and whoever closes the connection ends the rest.
    const inTime = async (what: string, work: Promise<unknown>) => {
      await withTimeout(what, CLOSE_MS, () => work).catch((error: unknown) => this.#failed(error));
    };
    // What goes on until then is worth the time that a store needs which answers.
    const closingMs = (await this.#storeIsQuick()) ? Math.min(2 * CLOSE_MS, graceMs / 10) : 2 * CLOSE_MS;
    await Promise.all([
      inTime('pausing the queue', this.#worker.pause(true)),
      this.handOver({ graceMs: Math.max(0, graceMs - closingMs) }),
    ]);
    await inTime('the last sweep', Promise.resolve(this.#sweeping));
    // A job that is given back goes to another instance at once, one whose lock runs out seconds later.
    await inTime('giving jobs back', Promise.allSettled(this.#working));
    await inTime('closing the queue', Promise.all([this.#worker.close(true), this.#queue.close()]));
  }

  async #storeIsQuick(): Promise<boolean> {
    const asked = withTimeout('the store', QUICK_MS, () => this.options.store.countOpen());
    return await asked.then(
      () => true,
      () => false,
    );
  }

  /**
   * Adds jobs; where a run has one already, nothing changes. One by one: `addBulk` goes on failing after a restart of
   * Redis, which forgets the scripts that its transaction names. `begun`: see `JobData`.
   */
  async #enqueue(ids: readonly RunId[], { begun = false } = {}): Promise<void> {
    const data: JobData = { begun };
    await Promise.all(ids.map((id) => this.#queue.add('run', data, { jobId: id })));
  }

  async #watched(work: Promise<void>): Promise<void> {
    this.#working.add(work);
    try {
      await work;
    } finally {
      this.#working.delete(work);
    }
  }

  /**
   * One job: done where the run needs no job any more, else given back. It waits here before that, not in the queue, which
   * would go by the clocks of instances.
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
    // The news of it may have come to this worker, which takes none any more: told once again.
    if (signal.aborted) {
      await this.#queueOptions.connection.client.sendCommand(['ZADD', this.#queue.toKey('marker'), '0', '0']);
    }
    throw new WaitingError();
  }

  /** @throws where the job is to be put off. */
  async #driveFor(job: Job<JobData>): Promise<'done' | 'given back'> {
    const { signal } = this.stopping;
    const room =
      (job.data.begun && this.capacity.resume(this.active)) ||
      (await this.capacity.startWithin(HELD_BACK_MS, () => this.active, { signal }));
    if (!room) throw new Error('this instance carries what it can');
    const started = await this.#startFor(job);
    if (started === 'ended') return 'done';
    if (started === 'not now') return 'given back';
    const result = await started.done;
    if (result === 'lost') throw new Error('the run has another owner, or the store is away');
    return result === 'ended' ? 'done' : 'given back';
  }

  /** Claims a run and drives it. @throws where someone alive holds it. */
  async #startFor(job: Job<JobData>): Promise<{ done: Promise<ExecutionResult> } | 'ended' | 'not now'> {
    using _ = this.hold();
    const claim = await (job.data.begun ? this.#claimBegun(job) : this.#claimForTurn(job));
    if (typeof claim === 'string') return claim;
    this.capacity.served(this.options.clock.now() - claim.run.createdAt);
    return { done: this.drive(claim) };
  }

  /** Claims the run whose turn it is, and makes the job its. One of the job's id that no index knows is found, too. */
  async #claimForTurn(job: Job<JobData>): Promise<Claim | 'ended'> {
    const claim =
      (await this.claimNext({ queued: true })) ??
      (job.id === undefined ? undefined : await this.claim(job.id, { force: false }));
    if (!claim) return 'ended';
    if (job.id !== undefined) this.#runOf.set(job.id, claim.run.id);
    const data: JobData = { begun: true, run: claim.run.id };
    job.updateData(data).catch((error: unknown) => this.#failed(error));
    return claim;
  }

  async #claimBegun({ id, data }: Job<JobData>): Promise<Claim | 'ended' | 'not now'> {
    const run = data.run ?? id;
    return run === undefined
      ? 'ended'
      : await this.#claimSoon(run, { waitMs: this.#heldElsewhere.has(run) ? 0 : HELD_MS });
  }

  /** Claims a run, waiting for a dead owner's claim to run out. @throws where someone alive holds it. */
  async #claimSoon(id: RunId, { waitMs }: { waitMs: number }): Promise<Claim | 'ended' | 'not now'> {
    const { store } = this.options;
    const until = performance.now() + waitMs;
    const held = this.#heldElsewhere;
    while (!this.stopping.signal.aborted) {
      const claim = await this.claimLeft(id);
      const run = claim ? undefined : await store.get(id);
      const free = claim ?? (!run || run.endedAt !== null ? 'ended' : undefined);
      if (free) {
        held.delete(id);
        return free;
      }
      if (performance.now() > until) {
        if (held.size >= MOST_HELD) held.clear();
        held.add(id);
        throw new Error('the run is held by another instance');
      }
      await sleep(HELD_LOOK_MS, { signal: this.stopping.signal }).catch(() => {});
    }
    return 'not now';
  }

  /** Goes on with runs whose instance died, or gave them back. `before`: those that were left at the last look. */
  async #look(before: ReadonlySet<RunId>): Promise<ReadonlySet<RunId>> {
    const left = await this.options.store.claimable({ limit: SWEEP_LIMIT, abandoned: true });
    // One that is seen but once may be about to be claimed again by an owner who lives: its store was away.
    for (const id of left.filter((each) => before.has(each)).slice(0, TAKEN_AT_ONCE)) await this.#takeUp(id);
    return new Set(left);
  }

  /** Claims a run that nobody holds and drives it, without the queue: it was let in long ago, and waits for nobody's load. */
  async #takeUp(id: RunId): Promise<void> {
    if (this.stopping.signal.aborted || !this.capacity.resume(this.active)) return;
    using _ = this.hold();
    const claim = await this.claimLeft(id);
    if (claim) void this.#watched(this.#goOnElsewhere(id, this.drive(claim)));
  }

  /** Looks again and again, each time with what was found before. */
  async #lookAgain(
    look: (before: ReadonlySet<RunId>) => Promise<ReadonlySet<RunId>>,
    pauseMs: () => number,
  ): Promise<void> {
    const { signal } = this.stopping;
    let before: ReadonlySet<RunId> = new Set();
    while (!signal.aborted) {
      try {
        before = await look(before);
      } catch (error) {
        this.outage.failed(error);
        this.#failed(error);
      }
      await sleep(pauseMs(), { signal }).catch(() => {});
    }
  }

  /**
   * Gives each free run a job. One that was free `before` too, although there is room here, is driven without: then the
   * queue does not work.
   */
  async #sweep(before: ReadonlySet<RunId>): Promise<ReadonlySet<RunId>> {
    const { store, log } = this.options;
    const free = await store.claimable({ limit: SWEEP_LIMIT });
    for (const id of free) {
      if (!before.has(id) || this.stopping.signal.aborted || !this.capacity.start(this.active)) continue;
      const claim = await this.claimLeft(id);
      if (!claim) continue;
      log.warn({ run: id }, 'the queue did not deal out a run, it is taken without');
      void this.drive(claim);
    }
    const { signal } = this.stopping;
    await withTimeout('the sweep', ENQUEUE_MS, () => this.#enqueue(free), { signal }).catch((error: unknown) =>
      this.#failed(error),
    );
    return new Set(free);
  }

  #failed(error: unknown): void {
    this.#queueOptions.connection.failed(error);
    const now = performance.now();
    if (now - this.#complainedAt < COMPLAIN_MS || this.stopping.signal.aborted) return;
    this.#complainedAt = now;
    this.options.log.warn({ err: messageOf(error) }, 'the queue of runs failed');
  }
}
