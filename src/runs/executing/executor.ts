import type { Clock } from '../../base/clock.ts';
import type { RunId } from '../../base/ids.ts';
import type { Logger } from '../../base/logger.ts';
import type { Claim, NewRun, RunRecord, RunStore } from '../../store/run-store.ts';
import type { LoadMeter } from '../load-meter.ts';
import type { CarriedTranscripts } from '../stored/carried-transcripts.ts';
import type { ExecutionResult, RunDriver } from './driving/run-driver.ts';
import type { Beginning } from './log/log-at-claim.ts';
import type { RunLease } from './run-lease.ts';

/**
 * Claims runs, drives them, renews their claims, and hands them over at shutdown. `local-executor.ts` and
 * `queue-executor.ts` find a run, `active-runs.ts` drives it under its lease, `execution.ts` restores it from the store
 * and has the driver continue, `log/recorder.ts` and `log/log-writer.ts` write its events, up to the end.
 */
export interface Executor {
  start(): Promise<void>;
  /**
   * Takes room for a run that is about to be stored: it is created with the claim and starts here at once. Undefined
   * if there is no room, so that the run waits for any process that has some. `later`: for a run whose only reader is a
   * connection to this process; if there is no room, it waits here, already claimed, until there is some.
   */
  takeRoom(options?: { later?: boolean }): Room | undefined;
  /** Called when a run was submitted or became free. */
  wake(id: RunId): void;
  /**
   * Makes the run end as cancelled: stops it now, or as soon as it is claimed here. Returns whether this executor drives
   * it. The store need not know of the cancel yet.
   */
  cancel(id: RunId): boolean;
  /**
   * Claims the run, even from a live owner with `force`, and drives it to its end. Undefined if it has ended, or if
   * somebody holds it and `force` is false.
   */
  takeOver(id: RunId, options: { force: boolean }): Promise<ExecutionResult | undefined>;
  /** The lease of a run that this executor drives: its record when it was claimed, and the response stored so far. */
  leaseOf(id: RunId): Pick<RunLease, 'run' | 'fold'> | undefined;
  readonly active: number;
  /** Runs that are claimed here and wait for room. */
  readonly waiting: number;
  /** How many of those belong to an API key. */
  waitingOf(keyId: string): number;
  /** Whether queued runs have been held back for seconds because the process is at its capacity. Never when idle. */
  readonly overloaded: boolean;
  /** Stops claiming; hands active runs over at their next step boundary, after `graceMs` wherever they are. */
  stop(options: { graceMs: number }): Promise<void>;
}

/** Room for one run, given back when disposed. */
export interface Room extends Disposable {
  readonly claim: NonNullable<NewRun['claim']>;
  /** Drives the run that was created with `claim`. */
  begin(claim: Claim, beginning: Beginning): void;
}

export interface ExecutorOptions {
  store: RunStore;
  carried: CarriedTranscripts;
  driver: RunDriver;
  clock: Clock;
  log: Logger;
  retentionMs: number;
  /** Whether a run may (still) be driven; if not, it ends as cancelled. Absent: every run may. */
  mayRun?(run: RunRecord): boolean;
  /** How busy this process is. */
  load: LoadMeter;
  /** How many runs are driven at once at most. */
  maxConcurrent: number;
  /** Whether spans may contain prompts and answers (`telemetry.contents`). */
  showsContents?: boolean;
}
