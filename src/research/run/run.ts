import type { Clock } from '../../base/clock.ts';
import type { Logger } from '../../base/logger.ts';
import type { ResearchModelConfig } from '../../config/schema.ts';
import type { Tool } from '../../tools/tool.ts';
import type { ChatModel, RoutePrice } from '../../upstream/turn.ts';
import type { BegunAnswer } from '../answer/cited-answer.ts';
import type { SchemaChecker } from '../answer/schema/schema-job.ts';
import type { Prompts } from '../prompts/load-prompts.ts';
import type { Fence } from '../text/fence.ts';
import type { Allowance } from './allowance.ts';
import type { Budget } from './budget.ts';
import type { LiveSteps } from './live-steps.ts';
import type { Purse } from './money.ts';
import type { ResearchRequest } from './request.ts';
import type { ResearchState } from './state.ts';
import type { TranscriptEntry } from './transcript.ts';

/** Everything a research run works with. Nothing of it knows how events look or where they go. */
export interface ResearchRun {
  id: string;
  request: ResearchRequest;
  model: ResearchModelConfig;
  budget: Budget;
  /** What of it may still be used. */
  allowance: Allowance;
  /** What the run may cost, and the price of what reads long pages. */
  purse: Purse;
  readerPrice: RoutePrice | undefined;
  chat: ChatModel;
  /** Reads huge pages in pieces; a cheaper route where the configuration names one. */
  reader: ChatModel;
  tools: ReadonlyMap<string, Tool>;
  prompts: Prompts;
  /** Checks structured answers. */
  schemas: SchemaChecker;
  /** Marks text from outside as data. */
  fence: Fence;
  /** The fold of the stored transcript; the loop goes on from it. */
  state: ResearchState;
  /** An answer that was cut by a crash and is continued in place, as its reader has it; text '' otherwise. */
  answerSoFar: BegunAnswer;
  /** When the run was submitted, in milliseconds: the date that the model is told, whenever it is taken up again. */
  startedAt: number;
  clock: Clock;
  log: Logger;
  /** Ends the run: cancel, lost claim, shutdown. */
  signal: AbortSignal;
  /** Takes what the model says as it comes; where it is absent, all of it is yielded. */
  live?: LiveSteps | undefined;
  /** Waits for a place for a tool call, where others make calls at the same time. */
  toolSlot?: ((signal: AbortSignal) => Promise<Disposable>) | undefined;
  /** Of a lane: what it is to find out. */
  lane?: LaneTask | undefined;
  onToolCall?: ((call: ObservedToolCall) => void) | undefined;
  /** Asked between steps: true hands the run over to another instance. */
  shouldPause(): boolean;
}

/** What a lane is to find out. */
export interface LaneTask {
  /** The question that its findings are held against. */
  question: string;
  /** What its model is asked, behind the conversation. */
  ask: string;
}

/** What of a run decides what is sent to the model. */
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

/** Applies an entry to the state and hands it on to be stored: the two never differ. */
export function noted<E extends TranscriptEntry>(state: ResearchState, entry: E): E {
  state.apply(entry);
  return entry;
}
