import type { ErrorCode } from '../../../base/errors.ts';
import type { MessagePhase, UrlCitation } from '../../../protocol/items.ts';
import type { LiveSteps } from '../../../research/run/live-steps.ts';
import type { ResearchState } from '../../../research/run/state.ts';
import type { ResearchOutcome, Step } from '../../../research/run/steps.ts';
import type { RunRecord, TerminalStatus } from '../../../store/run-store.ts';
import type { Used } from '../../../upstream/used.ts';
import type { ProxyRequest } from '../../runs.ts';

/** Where a loop goes on, and whom it tells. */
export interface LoopOptions {
  run: RunRecord;
  state: ResearchState;
  /** An answer that was begun, as its reader has it. */
  answerSoFar: { text: string; annotations: readonly UrlCitation[]; phase?: MessagePhase | undefined };
  live: LiveSteps;
  signal: AbortSignal;
  shouldPause(): boolean;
}

/** What the execution of runs needs from the parts above and beside it. */
export interface RunDriver {
  /** The research loop of a run, ready to go on from `state`. */
  research(options: LoopOptions): AsyncGenerator<Step, ResearchOutcome | 'paused'>;
  /** The same of a response of a plain model. */
  plain(options: LoopOptions): AsyncGenerator<Step, ResearchOutcome | 'paused'>;
  /** One non-streamed chat completion of a proxy model: the provider's body, byte for byte. */
  proxy(options: {
    run: RunRecord;
    request: ProxyRequest;
    /** Given what tells how much the call has used so far, also where it fails. */
    metered(used: () => Used): void;
    signal: AbortSignal;
  }): Promise<string>;
  /** Awaited before a run that this process did not create is driven. @throws NewerDataError, and nothing else. */
  begins?(run: RunRecord): Promise<void>;
  /** Called with what a run has used so far, before what follows from it is stored. */
  used?(run: RunRecord, used: Used): void;
  /** Called when an execution has left its run. */
  left?(outcome: ExecutionOutcome): void;
}

/** How an execution left its run; `ended` where it wrote the end. */
export interface ExecutionOutcome {
  run: RunRecord;
  result: ExecutionResult;
  ended: { status: TerminalStatus; used: Used; error: ErrorCode | undefined } | undefined;
}

/** How an execution left its run. `released`: at a step boundary; `lost`: another owner goes on. */
export type ExecutionResult = 'ended' | 'released' | 'lost';
