import type { RunId } from '../base/ids.ts';
import type { RunRecord } from '../store/run-store.ts';
import type { ActiveRunsOptions } from './active-runs.ts';
import type { ExecutionResult } from './execute-run.ts';

/** Who executes runs: claims them, drives them, renews the claims, and lets go in order. */
export interface Executor {
  start(): Promise<void>;
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
  /** The record of a run that this executor drives, as it was claimed. */
  driven(id: RunId): RunRecord | undefined;
  readonly active: number;
  /** Takes no new runs; hands running ones over at their next step boundary, after `graceMs` wherever they are. */
  stop(options: { graceMs: number }): Promise<void>;
}

export interface ExecutorOptions extends ActiveRunsOptions {
  maxConcurrent: number;
}
