import type { ErrorCode } from '../../../base/errors.ts';
import type { MessagePhase, UrlCitation } from '../../../protocol/items.ts';
import type { LiveSteps } from '../../../research/run/live-steps.ts';
import type { Pricing } from '../../../research/run/spending.ts';
import type { ResearchState } from '../../../research/run/state.ts';
import type { ResearchOutcome, Step } from '../../../research/run/steps.ts';
import type { RunRecord, TerminalStatus } from '../../../store/run-store.ts';
import type { UsageTotals } from '../../../upstream/usage-totals.ts';
import type { ProxyRequest } from '../../stored/request-schema.ts';

/** Where a loop starts from, and where its live steps go. */
export interface LoopOptions {
  run: RunRecord;
  state: ResearchState;
  /** The answer so far, as readers have it. */
  answerSoFar: { text: string; annotations: readonly UrlCitation[]; phase?: MessagePhase | undefined };
  live: LiveSteps;
  signal: AbortSignal;
  shouldPause(): boolean;
}

/** Drives runs of each kind, and accounts for their usage and end. */
export interface RunDriver {
  /** The research loop of a run, continuing from `state`. */
  research(options: LoopOptions): AsyncGenerator<Step, ResearchOutcome | 'paused'>;
  /** The loop of a plain model's response, continuing from `state`. */
  plain(options: LoopOptions): AsyncGenerator<Step, ResearchOutcome | 'paused'>;
  /** One non-streamed chat completion of a proxy model: the provider's body, byte for byte. */
  proxy(options: {
    run: RunRecord;
    request: ProxyRequest;
    /** Called with a function that reads the call's usage so far, which works even after it failed. */
    setUsageReader(readUsage: () => UsageTotals): void;
    signal: AbortSignal;
  }): Promise<string>;
  /** In what estimated turns of a run are charged if their route is not known. */
  pricing?(run: RunRecord): Pricing;
  /** Awaited before this process drives a run that it did not create. @throws only NewerDataError. */
  beforeResume?(run: RunRecord): Promise<void>;
  /** Called with a run's usage so far, before the step that caused it is stored. */
  onUsage?(run: RunRecord, used: UsageTotals): void;
  /** Called when an execution no longer drives its run. */
  afterExecution?(outcome: ExecutionOutcome): void;
}

/** How an execution finished. */
export interface ExecutionOutcome {
  run: RunRecord;
  result: ExecutionResult;
  ended: RunEnd | undefined;
}

/** The end of a run, as the execution that wrote it knows it. `used`: absent if what was noted last counts. */
export interface RunEnd {
  status: TerminalStatus;
  used: UsageTotals | undefined;
  error: ErrorCode | undefined;
}

/** `ended`: the run has ended; `released`: the claim was released for another owner; `lost`: another owner has it. */
export type ExecutionResult = 'ended' | 'released' | 'lost';
