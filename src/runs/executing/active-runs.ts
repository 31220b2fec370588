import { LRUCache } from 'lru-cache';
import { sleep, withTimeout } from '../../base/abort.ts';
import type { RunId } from '../../base/ids.ts';
import { workFor } from '../../base/load/event-loop.ts';
import type { Claim } from '../../store/run-store.ts';
import { Capacity } from './capacity.ts';
import type { ExecutionResult } from './driving/run-driver.ts';
import { executeRun } from './execute-run.ts';
import type { Executor, ExecutorOptions, Reservation } from './executor.ts';
import { AppendTick } from './log/append-tick.ts';
import type { Beginning } from './log/found-log.ts';
import { LEASE_MS, RunLease } from './run-lease.ts';
import { inRunSpan } from './run-span.ts';
import { StoreOutage } from './store-outage.ts';

/** How long runs may take to store what they have and to give their claims back, in milliseconds. */
const LEAVING_MS = 3000;

/** How often claims are renewed, in milliseconds; a cancel whose news was lost is found by then. */
const RENEW_MS = 1000;
/**
 * A chat completion is created with the claim of the process that holds its connection. One that nobody has claimed for
 * this long, of an older gateway, was left by a process that died before it could, in milliseconds.
 */
const LEFT_MS = 3000;
/** Runs that are known to be cancelled, or served; the oldest are forgotten first, the store knows them by then. */
const MOST_KNOWN = 10_000;

export interface DriveOptions {
  /** Awaited first, while the claim is held; its signal aborts where the run is to end at once. */
  room?(signal: AbortSignal): Promise<void>;
  beginning?: Beginning | undefined;
}

interface ActiveRun {
  lease: RunLease;
  done: Promise<ExecutionResult>;
}

/**
 * The runs that this instance drives: renews their leases, stops them for a cancel, hands them over. How it finds them
 * is left to each kind of executor.
 */
export abstract class ActiveRuns implements Executor {
  protected readonly capacity: Capacity;
  /** Hears of it where claims cannot be renewed or looked for. */
  protected readonly outage: StoreOutage;
  protected readonly options: ExecutorOptions;
  protected readonly stopping = new AbortController();
  readonly #runs = new Map<RunId, ActiveRun>();
  /** Runs whose cancel this instance knows of, the store perhaps not yet: they are not taken up again. */
  readonly #cancelled = new LRUCache<RunId, true>({ max: MOST_KNOWN });
  readonly #tick: AppendTick;
  readonly #startedAt: number;
  /** Chat completions whose connections this process holds, until they have been driven. */
  readonly #served = new LRUCache<RunId, true>({ max: MOST_KNOWN });
  #renewal: NodeJS.Timeout | undefined;
  #pausing = false;
  /** Runs that are held and wait for room, by API key. */
  readonly #waitingOf = new Map<string, number>();
  #waiting = 0;
  #held = 0;

  constructor(options: ExecutorOptions) {
    this.options = options;
    this.capacity = new Capacity(options);
    this.outage = new StoreOutage(options.store);
    this.#tick = new AppendTick(options.load);
    this.#startedAt = options.clock.now();
  }

  abstract start(): Promise<void>;
  abstract wake(id: RunId): void;
  abstract stop(options: { graceMs: number }): Promise<void>;

  /** Hears of each run that begins where it was submitted. */
  protected driving(_id: RunId, _done: Promise<ExecutionResult>): void {}

  get active(): number {
    return this.#runs.size - this.#waiting + this.#held;
  }

  get waiting(): number {
    return this.#waiting;
  }

  waitingOf(keyId: string): number {
    return this.#waitingOf.get(keyId) ?? 0;
  }

  get overloaded(): boolean {
    return this.active > 0 && this.capacity.overloaded;
  }

  driven(id: RunId): RunLease | undefined {
    return this.#runs.get(id)?.lease;
  }

  /**
   * Drives a claimed run until it has ended or this instance lets go of it. Never rejects for what the run does.
   */
  async drive(claim: Claim, options: DriveOptions = {}): Promise<ExecutionResult> {
    const { store, log } = this.options;
    const { id } = claim.run;
    const driven = this.#runs.get(id);
    if (driven && !driven.lease.signal.aborted) {
      await driven.lease.offer(claim);
      return await driven.done;
    }
    const lease = new RunLease(claim, { store, log, failed: (thrown) => this.outage.failed(thrown) });
    if (this.#cancelled.has(id) || !this.#mayRun(lease)) lease.cancel();
    if (this.#pausing) pause(lease);
    lease.orphaned = this.#isOrphaned(claim);
    const run: ActiveRun = { lease, done: this.#executeIn(lease, options) };
    this.#runs.set(id, run);
    this.#renewal ??= setInterval(() => this.#renewAll(), RENEW_MS);
    try {
      const result = await run.done;
      if (result === 'ended') this.#cancelled.delete(id);
      return result;
    } finally {
      if (this.#runs.get(id) === run) this.#runs.delete(id);
      this.#served.delete(id);
      if (this.#runs.size === 0) {
        clearInterval(this.#renewal);
        this.#renewal = undefined;
      }
      this.capacity.left();
    }
  }

  /** The only reader of this chat completion is a connection to this process. */
  serves(id: RunId): void {
    this.#served.set(id, true);
  }

  reserve({ later = false } = {}): Reservation | undefined {
    if (this.#pausing || !(later || this.capacity.startNow(this.active))) return undefined;
    const place = later ? undefined : this.hold();
    return {
      claim: { leaseMs: LEASE_MS },
      begin: (claim, beginning) => {
        const { id, keyId, api } = claim.run;
        if (api === 'chat_completions') this.serves(id);
        const room = (signal: AbortSignal) => this.capacity.room(keyId, () => this.active, signal);
        this.driving(id, this.drive(claim, { beginning, ...(later && { room }) }));
      },
      [Symbol.dispose]: () => place?.[Symbol.dispose](),
    };
  }

  /** Counts a run that has got its room and is not driven yet, until it is disposed of. */
  hold(): Disposable {
    this.#held++;
    return {
      [Symbol.dispose]: () => {
        this.#held--;
        this.capacity.left();
      },
    };
  }

  /** Claims a run; undefined where it is not to be had. */
  async claim(id: RunId, { force }: { force: boolean }): Promise<Claim | undefined> {
    return await this.options.store.claim(id, { leaseMs: LEASE_MS, force });
  }

  /** Claims a run that may have had an owner; undefined also where that one may live. */
  protected async claimLeft(id: RunId): Promise<Claim | undefined> {
    return this.outage.isOver ? await this.claim(id, { force: false }) : undefined;
  }

  /** The next free run, claimed; `queued`: the next one that was not begun. */
  async claimNext(options: { queued?: boolean } = {}): Promise<Claim | undefined> {
    return await this.options.store.claimNext({ ...options, leaseMs: LEASE_MS });
  }

  async takeOver(id: RunId, options: { force: boolean }): Promise<ExecutionResult | undefined> {
    const claim = await this.claim(id, options);
    if (claim && options.force) this.#runs.get(id)?.lease.handOver();
    return claim && (await this.drive(claim));
  }

  cancel(id: RunId): boolean {
    this.#cancelled.set(id, true);
    const run = this.#runs.get(id);
    run?.lease.cancel();
    return run !== undefined;
  }

  /** Renews a claim that may have been lost, and stops the run if it was. */
  async confirm(id: RunId): Promise<void> {
    await this.#runs.get(id)?.lease.renew();
  }

  /**
   * Hands every run over at its next step boundary, near the end of `graceMs` wherever it is. A store that does not take
   * the last events and the claim in time is not waited for: the claim runs out, and another instance goes on.
   */
  async handOver({ graceMs }: { graceMs: number }): Promise<void> {
    const last = Math.min(LEAVING_MS, graceMs / 8);
    this.#pausing = true;
    for (const { lease } of this.#runs.values()) pause(lease);
    const all = Promise.allSettled([...this.#runs.values()].map((run) => run.done));
    const grace = new AbortController();
    await Promise.race([all, sleep(graceMs - last, { signal: grace.signal }).catch(() => {})]);
    grace.abort();
    for (const { lease } of this.#runs.values()) lease.handOver();
    const { log } = this.options;
    await withTimeout('handing over', Math.max(LEAVING_MS, last), () => all).catch(() =>
      log.warn({ runs: this.#runs.size }, 'the store was too slow to give runs back; their claims run out'),
    );
  }

  async #executeIn(lease: RunLease, { room, beginning }: DriveOptions): Promise<ExecutionResult> {
    if (room) {
      this.#wait(lease.run.keyId, 1);
      await room(lease.signal).finally(() => this.#wait(lease.run.keyId, -1));
    }
    return await this.#execute(lease, beginning);
  }

  #wait(keyId: string, by: 1 | -1): void {
    this.#waiting += by;
    const own = this.waitingOf(keyId) + by;
    if (own > 0) this.#waitingOf.set(keyId, own);
    else this.#waitingOf.delete(keyId);
  }

  async #execute(lease: RunLease, beginning: Beginning | undefined): Promise<ExecutionResult> {
    const { showsContents = false } = this.options;
    const log = this.options.log.child({ run: lease.run.id });
    const options = { ...this.options, log, lease, tick: this.#tick, beginning };
    const result = await workFor({ run: lease.run.id, key: lease.run.keyId }, () =>
      inRunSpan(lease.run, { showsContents }, () => executeRun(options)),
    );
    if (result !== 'ended') log.info({ result, attempts: lease.attempts }, 'run left');
    return result;
  }

  /** Only of runs that are claimed for the first time; the execution recognises the others. */
  #isOrphaned({ run }: Claim): boolean {
    const { id, api, createdAt } = run;
    if (api !== 'chat_completions' || this.#served.has(id)) return false;
    return createdAt < this.#startedAt || this.options.clock.now() - createdAt > LEFT_MS;
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

/** A chat completion cannot be handed over: it has the whole grace time to end. */
function pause(lease: RunLease): void {
  if (lease.run.api !== 'chat_completions') lease.pause();
}
