import type { Logger } from '../../base/logger.ts';
import type { ResearchModelConfig } from '../../config/schema.ts';
import type { Tool } from '../../tools/tool.ts';
import type { ChatModel, RoutePrice } from '../../upstream/turn.ts';
import type { PartialAnswer } from '../answer/earlier-answer.ts';
import type { SchemaChecker } from '../answer/schema/schema-job.ts';
import type { Prompts } from '../prompts/load-prompts.ts';
import type { Fence } from '../text/fence.ts';
import type { Allowance } from './allowance.ts';
import type { Budget } from './budget.ts';
import type { CostBudget } from './cost-budget.ts';
import type { LiveSteps } from './live-steps.ts';
import type { ResearchRequest } from './request.ts';
import type { ResearchState } from './state.ts';
import type { TranscriptEntry } from './transcript.ts';

/** Everything a research run works with. None of it knows what events look like or where they go. */
export interface ResearchRun {
  id: string;
  request: ResearchRequest;
  model: ResearchModelConfig;
  budget: Budget;
  /** What remains of the budget. */
  allowance: Allowance;
  costBudget: CostBudget;
  readerPrice: RoutePrice | undefined;
  chat: ChatModel;
  /** Reads huge pages in pieces, on a cheaper route if the configuration names one. */
  reader: ChatModel;
  tools: ReadonlyMap<string, Tool>;
  prompts: Prompts;
  /** Checks structured answers. */
  schemas: SchemaChecker;
  /** Marks text from outside as data. */
  fence: Fence;
  /** The fold of the stored transcript; the loop goes on from it. */
  state: ResearchState;
  /** The part of an answer that clients already have, when the run continues one that a crash cut off; otherwise empty. */
  answerSoFar: PartialAnswer;
  /** When the run was submitted, in milliseconds: the date in the prompt, which a resumed run keeps. */
  startedAt: number;
  /** Working time so far, in milliseconds: time in which no instance worked on the run does not count. */
  elapsedMs(): number;
  log: Logger;
  /** Ends the run: cancel, lost claim, shutdown. */
  signal: AbortSignal;
  /** Takes the model's deltas as they arrive; without it, every one of them is yielded. */
  live?: LiveSteps | undefined;
  /** Waits for a free slot for a tool call, where several lanes make calls at the same time. */
  toolSlot?: ((signal: AbortSignal) => Promise<Disposable>) | undefined;
  /** The task of a lane; absent in the run itself. */
  lane?: LaneTask | undefined;
  onToolCall?: ((call: ObservedToolCall) => void) | undefined;
  /** Asked between steps: true hands the run over to another instance. */
  shouldPause(): boolean;
}

/** What a lane has to find out. */
export interface LaneTask {
  /** The question that findings are ranked by. */
  question: string;
  /** The instruction that follows the conversation in its prompt. */
  ask: string;
}

/** The parts of a run that prompts are built from. */
export type ContextRun = Pick<
  ResearchRun,
  'request' | 'model' | 'budget' | 'tools' | 'prompts' | 'fence' | 'state' | 'startedAt' | 'lane'
>;

/** A tool call that was executed, and how long it took in milliseconds. */
export interface ObservedToolCall {
  name: string;
  status: 'completed' | 'failed';
  ms: number;
}

/** Applies an entry to the state and returns it to be stored, so that the two never differ. */
export function applyEntry<E extends TranscriptEntry>(state: ResearchState, entry: E): E {
  state.apply(entry);
  return entry;
}
