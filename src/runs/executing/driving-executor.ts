import type { RunId } from '../../base/ids.ts';
import { ActiveRuns } from './active-runs.ts';
import type { ExecutionResult } from './driving/run-driver.ts';
import type { Executor, ExecutorOptions } from './executor.ts';

/** What the executors share: the runs that they drive here. How they find them is their own. */
export abstract class DrivingExecutor implements Executor {
  protected readonly options: ExecutorOptions;
  protected readonly runs: ActiveRuns;
  protected readonly stopping = new AbortController();

  constructor(options: ExecutorOptions) {
    this.options = options;
    this.runs = new ActiveRuns(options);
  }

  abstract start(): Promise<void>;
  abstract wake(id: RunId): void;
  abstract stop(options: { graceMs: number }): Promise<void>;

  /** Hears of each run that begins where it was submitted. */
  protected driving(_id: RunId, _done: Promise<ExecutionResult>): void {}

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
    return this.active > 0 && this.runs.capacity.overloaded;
  }

  reserve({ later = false } = {}) {
    return this.runs.reserve({ later }, (id, done) => this.driving(id, done));
  }

  cancel(id: RunId): boolean {
    return this.runs.cancel(id);
  }

  takeOver(id: RunId, options: { force: boolean }) {
    return this.runs.takeOver(id, options);
  }

  driven(id: RunId) {
    return this.runs.get(id);
  }
}
