import type { Clock } from '../../base/clock.ts';
import type { RunId } from '../../base/ids.ts';
import type { Logger } from '../../base/logger.ts';
import type { Claim, NewRun, RunRecord, RunStore } from '../../store/run-store.ts';
import type { LoadMeter } from '../load-meter.ts';
import type { CarriedTranscripts } from '../stored/carried-transcripts.ts';
import type { ExecutionResult, RunDriver } from './driving/run-driver.ts';
import type { Beginning } from './log/found-log.ts';
import type { RunLease } from './run-lease.ts';

/**
 * Who executes runs: claims them, drives them, renews the claims, and lets go in order. `local-executor.ts` and
 * `queue-executor.ts` take a run, `active-runs.ts` drives it under its lease, `execution.ts` reads what is stored of it
 * and has the driver go on from there, `log/recorder.ts` and `log/log-writer.ts` write what comes of it, up to the end.
 */
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
  /** A run that this executor drives: its record as it was claimed, and what is stored of the response. */
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

/** Room for one run; given back when it is disposed of without having been used. */
export interface Reservation extends Disposable {
  readonly claim: NonNullable<NewRun['claim']>;
  /** Drives the run that was created so. */
  begin(claim: Claim, beginning: Beginning): void;
}

export interface ExecutorOptions {
  store: RunStore;
  carried: CarriedTranscripts;
  driver: RunDriver;
  clock: Clock;
  log: Logger;
  retentionMs: number;
  /** Whether a run may (still) be driven; one that may not ends as cancelled. Absent: every run may. */
  mayRun?(run: RunRecord): boolean;
  /** How busy this process is. */
  load: LoadMeter;
  /** The most runs that are driven at once. */
  maxConcurrent: number;
  /** Spans may show what is said (`telemetry.contents`). */
  showsContents?: boolean;
}
