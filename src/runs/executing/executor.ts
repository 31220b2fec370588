import { sleep, withTimeout } from '../../base/abort.ts';
import { boundedCache } from '../../base/bounded-cache.ts';
import type { RunId } from '../../base/ids.ts';
import { runInScope } from '../../base/load/event-loop.ts';
import type { Claim, NewRun } from '../../store/run-store.ts';
import { Capacity } from './capacity.ts';
import type { ExecutionResult } from './driving/run-driver.ts';
import { executeRun } from './execute-run.ts';
import type { ExecutorOptions } from './executor-options.ts';
import { AppendTick } from './log/append-tick.ts';
import type { Beginning } from './log/log-at-claim.ts';
import { LEASE_MS, RunLease } from './run-lease.ts';
import { inRunSpan } from './run-span.ts';
import { StoreOutage } from './store-outage.ts';

/** How long runs may take at shutdown to store what they have and release their claims, in milliseconds. */
const RELEASE_MS = 3000;

/** How often claims are renewed, in milliseconds. A renewal also finds a cancel whose notification was lost. */
const RENEW_MS = 1000;
/** How many cancelled runs are remembered; by the time the oldest are forgotten, the store knows them. */
const MAX_CANCELLED = 10_000;

/** Room for one run, given back when disposed. */
export interface Room extends Disposable {
  readonly claim: NonNullable<NewRun['claim']>;
  /** Drives the run that was created with `claim`. */
  begin(claim: Claim, beginning: Beginning): void;
}

export interface DriveOptions {
  /** Awaited before the run starts, with its claim held; the signal aborts if the run should end at once. */
  waitForRoom?(signal: AbortSignal): Promise<void>;
  beginning?: Beginning | undefined;
}

interface ActiveRun {
  lease: RunLease;
  done: Promise<ExecutionResult>;
}

/**
 * Claims runs, drives them, renews their claims, and hands them over at shutdown. How runs are found is left to each kind
 * (`local-executor.ts`, `queue-executor.ts`). `execution.ts` restores a run from the store and has the driver continue,
 * `log/recorder.ts` and `log/log-writer.ts` write its events, up to the end.
 */
export abstract class Executor {
  protected readonly capacity: Capacity;
  /** Told whenever claims cannot be renewed or looked for. */
  protected readonly outage: StoreOutage;
  protected readonly options: ExecutorOptions;
  protected readonly stopping = new AbortController();
  readonly #runs = new Map<RunId, ActiveRun>();
  /** Runs that are cancelled as far as this process knows, even if the store does not yet: if claimed again, they end. */
  readonly #cancelled = boundedCache<true>(MAX_CANCELLED);
  readonly #tick: AppendTick;
  #renewal: NodeJS.Timeout | undefined;
  #pausing = false;
  /** How many runs are claimed here and wait for room, by API key. */
  readonly #waitingOf = new Map<string, number>();
  #waiting = 0;
  #heldPlaces = 0;

  constructor(options: ExecutorOptions) {
    this.options = options;
    this.capacity = new Capacity(options);
    this.outage = new StoreOutage(options.store);
    this.#tick = new AppendTick(options.load);
  }

  abstract start(): Promise<void>;
  /** Called when a run was submitted or became free. */
  abstract wake(id: RunId): void;
  /** Stops claiming; hands active runs over at their next step boundary, after `graceMs` wherever they are. */
  abstract stop(options: { graceMs: number }): Promise<void>;

  get active(): number {
    return this.#runs.size - this.#waiting + this.#heldPlaces;
  }

  /** Runs that are claimed here and wait for room. */
  get waiting(): number {
    return this.#waiting;
  }

  /** How many of those belong to an API key. */
  waitingOf(keyId: string): number {
    return this.#waitingOf.get(keyId) ?? 0;
  }

  /** Whether queued runs have been held back for seconds because the process is at its capacity. Never when idle. */
  get overloaded(): boolean {
    return this.active > 0 && this.capacity.overloaded;
  }

  /** The lease of a run that is driven here: its record when it was claimed, and the response stored so far. */
  leaseOf(id: RunId): RunLease | undefined {
    return this.#runs.get(id)?.lease;
  }

  /** Drives a claimed run until it has ended or this process lets go of it. A failure of the run does not reject. */
  async drive(claim: Claim, options: DriveOptions = {}): Promise<ExecutionResult> {
    const { store, log } = this.options;
    const { id } = claim.run;
    const driven = this.#runs.get(id);
    if (driven && !driven.lease.signal.aborted) {
      await driven.lease.offer(claim);
      return await driven.done;
    }
    const lease = new RunLease(claim, { store, log, onRenewalFailed: (thrown) => this.outage.noteFailure(thrown) });
    if (this.#cancelled.has(id) || !this.#mayRun(lease)) lease.cancel();
    if (this.#pausing) pauseUnlessChat(lease);
    // A chat completion begins in the process that holds its connection, or never.
    lease.orphaned = claim.run.api === 'chat_completions' && !options.beginning;
    // Starts a moment later: whether it has to wait depends on all runs, this one included.
    const run: ActiveRun = { lease, done: Promise.resolve().then(() => this.#executeIn(lease, options)) };
    this.#runs.set(id, run);
    this.#renewal ??= setInterval(() => this.#renewAll(), RENEW_MS);
    try {
      const result = await run.done;
      if (result === 'ended') this.#cancelled.delete(id);
      return result;
    } finally {
      if (this.#runs.get(id) === run) this.#runs.delete(id);
      if (this.#runs.size === 0) {
        clearInterval(this.#renewal);
        this.#renewal = undefined;
      }
      this.capacity.placeFreed();
    }
  }

  /**
   * Takes room for a run that is about to be stored: it is created with the claim and starts here at once. Undefined
   * if there is no room, so that the run waits for any process that has some. `later`: for a run whose only reader is a
   * connection to this process; if there is no room, it waits here, already claimed, until there is some.
   */
  takeRoom({ later = false } = {}): Room | undefined {
    if (this.#pausing || !(later || this.capacity.tryStartNow(this.active))) return undefined;
    const place = later ? undefined : this.holdPlace();
    return {
      claim: { leaseMs: LEASE_MS },
      begin: (claim, beginning) => {
        const { keyId } = claim.run;
        const room = (signal: AbortSignal) => this.capacity.waitForRoom(keyId, () => this.active, signal);
        void this.drive(claim, { beginning, ...(later && { waitForRoom: room }) });
      },
      [Symbol.dispose]: () => place?.[Symbol.dispose](),
    };
  }

  /** Counts a run that has room but is not driven yet, until disposed. */
  holdPlace(): Disposable {
    this.#heldPlaces++;
    return {
      [Symbol.dispose]: () => {
        this.#heldPlaces--;
        this.capacity.placeFreed();
      },
    };
  }

  /** Claims a run; undefined if it cannot be claimed. */
  async claim(id: RunId, { force }: { force: boolean }): Promise<Claim | undefined> {
    return await this.options.store.claim(id, { leaseMs: LEASE_MS, force });
  }

  /** Claims a run that may have had an owner; undefined also if that owner may still be alive. */
  protected async claimAbandoned(id: RunId): Promise<Claim | undefined> {
    return this.outage.isOver ? await this.claim(id, { force: false }) : undefined;
  }

  /** Claims the next free run. `queued`: only among those that have not begun. */
  async claimNext(options: { queued?: boolean } = {}): Promise<Claim | undefined> {
    return await this.options.store.claimNext({ ...options, leaseMs: LEASE_MS });
  }

  /**
   * Claims the run, even from a live owner with `force`, and drives it to its end. Undefined if it has ended, or if
   * somebody holds it and `force` is false.
   */
  async takeOver(id: RunId, options: { force: boolean }): Promise<ExecutionResult | undefined> {
    const claim = await this.claim(id, options);
    if (claim && options.force) this.#runs.get(id)?.lease.handOver();
    return claim && (await this.drive(claim));
  }

  /**
   * Makes the run end as cancelled: stops it now, or as soon as it is claimed here. Returns whether it is driven here. The
   * store need not know of the cancel yet.
   */
  cancel(id: RunId): boolean {
    this.#cancelled.set(id, true);
    const run = this.#runs.get(id);
    run?.lease.cancel();
    return run !== undefined;
  }

  /**
   * Hands every run over at its next step boundary, or wherever it is near the end of `graceMs`. Does not wait for a store
   * that is too slow to take the last events and the claim: the claim expires and another process continues.
   */
  async handOver({ graceMs }: { graceMs: number }): Promise<void> {
    const releaseMs = Math.min(RELEASE_MS, graceMs / 8);
    this.#pausing = true;
    for (const { lease } of this.#runs.values()) pauseUnlessChat(lease);
    const all = Promise.allSettled([...this.#runs.values()].map((run) => run.done));
    const grace = new AbortController();
    await Promise.race([all, sleep(graceMs - releaseMs, { signal: grace.signal }).catch(() => {})]);
    grace.abort();
    for (const { lease } of this.#runs.values()) lease.handOver();
    const { log } = this.options;
    await withTimeout('handing over', Math.max(RELEASE_MS, releaseMs), () => all).catch(() =>
      log.warn({ runs: this.#runs.size }, 'the store was too slow to release runs; their claims expire'),
    );
  }

  async #executeIn(lease: RunLease, { waitForRoom: room, beginning }: DriveOptions): Promise<ExecutionResult> {
    if (room) {
      this.#countWaiting(lease.run.keyId, 1);
      await room(lease.signal).finally(() => this.#countWaiting(lease.run.keyId, -1));
    }
    return await this.#execute(lease, beginning);
  }

  #countWaiting(keyId: string, by: 1 | -1): void {
    this.#waiting += by;
    const waiting = this.waitingOf(keyId) + by;
    if (waiting > 0) this.#waitingOf.set(keyId, waiting);
    else this.#waitingOf.delete(keyId);
  }

  async #execute(lease: RunLease, beginning: Beginning | undefined): Promise<ExecutionResult> {
    const { showsContents = false } = this.options;
    const log = this.options.log.child({ run: lease.run.id });
    const options = { ...this.options, log, lease, tick: this.#tick, beginning };
    const result = await runInScope({ run: lease.run.id, key: lease.run.keyId }, () =>
      inRunSpan(lease.run, { showsContents }, () => executeRun(options)),
    );
    if (result !== 'ended') log.info({ result, attempts: lease.attempts }, 'run left');
    return result;
  }

  #mayRun({ run }: RunLease): boolean {
    return this.options.mayRun?.(run) ?? true;
  }

  #renewAll(): void {
    for (const { lease } of this.#runs.values()) {
      if (!this.#mayRun(lease)) lease.cancel();
      void lease.renew();
    }
  }
}

/** A chat completion cannot be handed over, so it gets the whole grace time to end. */
function pauseUnlessChat(lease: RunLease): void {
  if (lease.run.api !== 'chat_completions') lease.pause();
}
