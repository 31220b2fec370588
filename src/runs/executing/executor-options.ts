import type { Clock } from '../../base/clock.ts';
import type { Logger } from '../../base/logger.ts';
import type { RunRecord, RunStore } from '../../store/run-store.ts';
import type { LoadMeter } from '../load-meter.ts';
import type { CarriedTranscripts } from '../stored/carried-transcripts.ts';
import type { RunDriver } from './driving/run-driver.ts';

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
