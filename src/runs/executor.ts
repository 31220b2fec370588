import type { RunId } from '../base/ids.ts';
import type { ActiveRunsOptions } from './active-runs.ts';

/** Who executes runs: claims them, drives them, renews the claims, and lets go in order. */
export interface Executor {
  start(): Promise<void>;
  /** A run was submitted or became free. */
  wake(id: RunId): void;
  /** A cancel was accepted; true where this executor drives the run and stops it now. */
  cancel(id: RunId): boolean;
  readonly active: number;
  /** Takes no new runs; hands running ones over at their next step boundary, after `graceMs` wherever they are. */
  stop(options: { graceMs: number }): Promise<void>;
}

export interface ExecutorOptions extends ActiveRunsOptions {
  /** Names this instance in claims. */
  owner: string;
  maxConcurrent: number;
}
