import type { RunId } from '../../base/ids.ts';
import type { Claim } from '../../store/run-store.ts';
import { ActiveRuns, type ActiveRunsOptions, type Driving, type Reservation } from './active-runs.ts';
import { Capacity } from './capacity.ts';
import type { ExecutionResult } from './run-driver.ts';
import type { RunLease } from './run-lease.ts';

/** Who executes runs: claims them, drives them, renews the claims, and lets go in order. */
export interface Executor {
  start(): Promise<void>;
  /**
   * Keeps room for a run that is about to be stored, where there is room now: it is created with the claim and begins
   * here at once. Undefined: it has to be stored for whoever has room. `later`: for a run whose only reader is a
   * connection to this process, so that it ends with it; without room it waits here, claimed, until there is some.
   */
  reserve(options?: { later?: boolean }): Reservation | undefined;
  /** A run was submitted or became free. */
  wake(id: RunId): void;
  /**
   * The run is to end as cancelled: stops it now, or when it is taken up here. True where this executor drives it. The
   * store need not know yet.
   */
  cancel(id: RunId): boolean;
  /**
   * Takes the run over, free or not (`force`), to end it. Undefined where it has ended or is held and `force` is false.
   */
  takeOver(id: RunId, options: { force: boolean }): Promise<ExecutionResult | undefined>;
  /** A run that this executor drives: its record as it was claimed, and the response as far as it is stored. */
  driven(id: RunId): Pick<RunLease, 'run' | 'fold'> | undefined;
  readonly active: number;
  /** Runs that are held and wait for room. */
  readonly waiting: number;
  /** Those of an API key. */
  waitingOf(keyId: string): number;
  /** Whether it has held queued runs back for seconds, because the process carries what it can. Never without runs. */
  readonly overloaded: boolean;
  /** Takes no new runs; hands running ones over at their next step boundary, after `graceMs` wherever they are. */
  stop(options: { graceMs: number }): Promise<void>;
}

export interface ExecutorOptions extends ActiveRunsOptions {
  maxConcurrent: number;
}

/** What executors of one and of several instances share: the runs of this process, and how many it may have. */
export abstract class RunsHere<Options extends ExecutorOptions> {
  protected readonly options: Options;
  protected readonly runs: ActiveRuns;
  protected readonly capacity: Capacity;
  protected readonly stopping = new AbortController();

  constructor(options: Options) {
    this.options = options;
    this.capacity = new Capacity(options);
    this.runs = new ActiveRuns({ ...options, left: () => this.capacity.left() });
  }

  /** Is told of a run that begins where it was submitted. */
  protected readonly driving: Driving = () => {};

  get active(): number {
    return this.runs.size;
  }

  get waiting(): number {
    return this.runs.waiting;
  }

  waitingOf(keyId: string): number {
    return this.runs.waitingOf(keyId);
  }

  get overloaded(): boolean {
    return this.active > 0 && this.capacity.overloaded;
  }

  reserve({ later = false } = {}): Reservation | undefined {
    return later ? this.runs.reserveLater(this.capacity, this.driving) : this.runs.reserve(this.capacity, this.driving);
  }

  cancel(id: RunId): boolean {
    return this.runs.cancel(id);
  }

  takeOver(id: RunId, options: { force: boolean }): Promise<ExecutionResult | undefined> {
    return this.runs.takeOver(id, options);
  }

  driven(id: RunId): Pick<RunLease, 'run' | 'fold'> | undefined {
    return this.runs.get(id);
  }

  /** A queued run has got its place: how long it waited says whether others are served soon. */
  protected drive(claim: Claim): Promise<ExecutionResult> {
    if (claim.attempts === 1) this.capacity.served(this.options.clock.now() - claim.run.createdAt);
    return this.runs.drive(claim);
  }
}
