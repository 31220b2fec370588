import { GatewayError } from '../../base/errors.ts';
import type { IncompleteReason } from '../../protocol/response.ts';
import { estimateTokens, minTokens } from '../../upstream/decoding/estimate.ts';
import { TurnError } from '../../upstream/turn.ts';
import type { Context } from '../context/context.ts';
import { type EmitStep, stepsOf } from '../run/live-steps.ts';
import { EmptyAnswer } from '../run/no-answer.ts';
import { applyEntry, type ResearchRun } from '../run/run.ts';
import type { Step } from '../run/steps.ts';
import type { TranscriptEntry } from '../run/transcript.ts';
import { citationsWithoutSource } from '../run/warnings.ts';
import { type AnswerProgress, ContextOverflow, type Finish, type RetryState, recordCutTurn } from '../turns.ts';
import type { AnswerRequest } from './answer-request.ts';
import type { CitedText } from './cited-answer.ts';
import type { MayShow } from './safe-markup.ts';

/** What an answer is written with. `signal` aborts with the run, or when the time for the answer is over. */
export interface AnswerOptions {
  context: Context;
  /** Which URLs it may show as images and links. */
  mayShow: MayShow;
  signal: AbortSignal;
  /** How long the model's checks of its claims may still take together, in milliseconds. */
  checks: { leftMs: number };
}

export interface WrittenText {
  text: string;
  /** Why the text was cut short, if it was. */
  cut: IncompleteReason | null;
}

/** Emits a piece of the answer with its citations, and a warning if it cites sources that do not exist. */
export function emitCited(run: ResearchRun, { text, annotations, unknown }: CitedText, emit: EmitStep): void {
  const entry = unknown.length > 0 ? warnUnknown(run, unknown) : undefined;
  if (text === '' && annotations.length === 0) return;
  emit(entry ? { type: 'answer', delta: text, annotations, entry } : { type: 'answer', delta: text, annotations });
}

function warnUnknown({ state, log }: ResearchRun, numbers: readonly number[]): TranscriptEntry {
  log.warn({ numbers }, 'the answer cites sources that do not exist');
  return applyEntry(state, { t: 'warned', warnings: citationsWithoutSource(numbers) });
}

/** A warning about cited numbers that belong to no source. */
export function unknownSourcesStep(run: ResearchRun, unknown: readonly number[]): Step {
  return { type: 'note', entry: warnUnknown(run, unknown) };
}

/** The steps of `emitCited`, as an iteration. */
export function citedSteps(run: ResearchRun, cited: CitedText): Generator<Step> {
  return stepsOf((emit) => emitCited(run, cited, emit));
}

/** Records the usage of an answer turn, and the part of the answer that it wrote, if any. */
export function spentStep(run: ResearchRun, usage: Finish['usage'], part?: AnswerProgress): Step {
  const written = part ? { answerLength: part.length, answerTokens: part.tokens } : {};
  return { type: 'note', entry: applyEntry(run.state, { t: 'spent', usage, ...written }) };
}

/** `budget` if another part of the answer would exceed the run's budget. */
export function usedUpBudget({ state, budget, costBudget }: ResearchRun, usage: Finish['usage']): 'budget' | undefined {
  const tokens = state.tokens + usage.inputTokens + usage.outputTokens;
  const left = costBudget.maxAnswerOutput(usage.inputTokens + usage.outputTokens, { pending: usage.cost ?? 0 });
  return tokens >= budget.tokens || left < MIN_PART ? 'budget' : undefined;
}
/** With fewer tokens left no further part is requested. */
const MIN_PART = 16;

/** Whether `max_cost` pays for a request. The first one of an answer is made in any case: its cost was reserved. */
export function mayAsk({ costBudget, state }: ResearchRun, { window }: Context, { estimate }: AnswerRequest): boolean {
  const last = state.ownEntries.findLast((entry) => entry.t === 'turn' || isOfAnswer(entry));
  const isFirst = last === undefined || last.t === 'turn';
  return isFirst || costBudget.maxAnswerOutput(window.counted(estimate)) >= MIN_PART;
}

/** Whether an entry charges a turn of an answer. */
function isOfAnswer(entry: TranscriptEntry): boolean {
  return entry.t === 'draft' || entry.t === 'section' || (entry.t === 'spent' && entry.answerLength !== undefined);
}

/** Records that nothing of the answer is retained. */
export const NO_TEXT: AnswerProgress = { length: 0, tokens: 0 };

/** The tokens of a part of the answer: as the provider counted them, unless the text must have more. */
export function partTokens(text: string, usage: Finish['usage'] | undefined): number {
  if (!usage || usage.estimated) return estimateTokens(text);
  return Math.max(usage.outputTokens - usage.reasoningTokens, Math.floor(minTokens(text)));
}

/** How many parts an answer may have, if the provider stops each of them at a length limit of its own. */
const MAX_PARTS = 64;
/** A shorter part, in UTF-16 code units, makes no progress: no provider stops answers so early. */
const MIN_PROGRESS = 100;

/**
 * Whether to request the rest of a text that the provider stopped for its length: if it is below its own limit (`left`:
 * tokens that this part could have), within the budget, and still makes progress.
 */
export function shouldContinue(
  run: ResearchRun,
  part: { written: WrittenText; text: string; usage: Finish['usage']; parts: number; tokens: number; left: number },
): boolean {
  const { written, text, usage, parts, tokens, left } = part;
  if (written.cut !== null || text.trim().length < MIN_PROGRESS || parts >= MAX_PARTS) return false;
  return !usedUpBudget(run, usage) && left - tokens >= MIN_PART;
}

/** A longer text is more than an announcement, in UTF-16 code units. */
const LONGEST_ANNOUNCEMENT = 400;

/** Whether a text, if there is any, only announces calls that may not be made: the model has still to be asked without tools. */
export function onlyAnnouncesCalls(text: string, finish: Finish | undefined): boolean {
  return finish?.reason === 'tool_calls' && text.length <= LONGEST_ANNOUNCEMENT && !/\{|[[【]\^?\d/.test(text);
}

/** Records that the answer is complete: a run that resumes from here needs no model. */
export function answeredStep(run: ResearchRun, { cut }: WrittenText, usage: Finish['usage']): Step {
  return { type: 'note', entry: applyEntry(run.state, { t: 'answered', usage, cut }) };
}

/**
 * Handles a failed answer turn. Returns when it should be tried again.
 * @throws GatewayError if the run fails.
 */
export async function* recover(
  run: ResearchRun,
  failure: { thrown: unknown; tries: RetryState; context: Context; request: AnswerRequest; answer?: AnswerProgress },
): AsyncGenerator<Step> {
  const { request, ...rest } = failure;
  const { maxOutputTokens: outputLimit = 0 } = request.request;
  try {
    yield* recordCutTurn(run, { ...rest, estimate: request.estimate, outputLimit });
  } catch (thrown) {
    if (thrown instanceof GatewayError && failure.thrown instanceof TurnError && failure.thrown.saysNothing)
      throw new EmptyAnswer(thrown.message, { cause: thrown });
    if (!(thrown instanceof ContextOverflow)) throw thrown;
    throw new GatewayError('context_length_exceeded', thrown.message, { cause: thrown });
  }
}
