import { GatewayError } from '../../base/errors.ts';
import type { IncompleteReason } from '../../protocol/response.ts';
import { estimateTokens, leastTokens } from '../../upstream/decoding/estimate.ts';
import { TurnError } from '../../upstream/turn.ts';
import type { Context } from '../context/context.ts';
import { stepsOf, type TakeStep } from '../run/live-steps.ts';
import { NothingWritten } from '../run/no-answer.ts';
import { noted, type ResearchRun } from '../run/run.ts';
import type { Step } from '../run/steps.ts';
import type { TranscriptEntry } from '../run/transcript.ts';
import { citationsWithoutSource } from '../run/warnings.ts';
import { afterCut, ContextWall, type CountedPart, type Finish, type Tries } from '../turns.ts';
import type { AnswerRequest } from './answer-request.ts';
import type { CitedText } from './cited-answer.ts';
import type { MayShow } from './safe-markup.ts';

/** What writing an answer has in common, whether it is text or a JSON value. */

/** What the answer is written with. `signal` ends the run, or the time for the answer. */
export interface Answering {
  context: Context;
  /** Which addresses it may show as images and links. */
  mayShow: MayShow;
  signal: AbortSignal;
}

export interface Written {
  text: string;
  /** Why the text ends before its end. */
  cut: IncompleteReason | null;
}

/** The answer as its reader gets it, with its citations and what is to be said of them. */
export function takeCited(run: ResearchRun, { text, annotations, unknown }: CitedText, take: TakeStep): void {
  const entry = unknown.length > 0 ? warned(run, unknown) : undefined;
  if (text === '' && annotations.length === 0) return;
  take(entry ? { type: 'answer', delta: text, annotations, entry } : { type: 'answer', delta: text, annotations });
}

function warned({ state, log }: ResearchRun, numbers: readonly number[]): TranscriptEntry {
  log.warn({ numbers }, 'the answer cites sources that do not exist');
  return noted(state, { t: 'warned', warnings: citationsWithoutSource(numbers) });
}

/** Tells of numbers in markers that belong to no source. */
export function unknownStep(run: ResearchRun, unknown: readonly number[]): Step {
  return { type: 'note', entry: warned(run, unknown) };
}

/** The same as steps of an iteration. */
export function citedSteps(run: ResearchRun, cited: CitedText): Generator<Step> {
  return stepsOf((take) => takeCited(run, cited, take));
}

/** What a turn of the answer cost, and how far the answer is written with it; absent: no further. */
export function spentStep(run: ResearchRun, usage: Finish['usage'], part?: CountedPart): Step {
  const written = part ? { answerLength: part.length, answerTokens: part.tokens } : {};
  return { type: 'note', entry: noted(run.state, { t: 'spent', usage, ...written }) };
}

/** `budget` where a further part of the answer would cost more than the run may. */
export function spentAnswerBudget({ state, budget, purse }: ResearchRun, usage: Finish['usage']): 'budget' | undefined {
  const tokens = state.tokens + usage.inputTokens + usage.outputTokens;
  const left = purse.answerTokens(usage.inputTokens + usage.outputTokens, { pending: usage.cost ?? 0 });
  return tokens >= budget.tokens || left < LEAST_PART ? 'budget' : undefined;
}
/** Fewer tokens are no further part. */
const LEAST_PART = 16;

/** Nothing of an answer is kept. */
export const NO_PART: CountedPart = { length: 0, tokens: 0 };

/** The tokens of a part of the answer: as its provider counted them, unless the text must be more. */
export function countedPart(text: string, usage: Finish['usage'] | undefined): number {
  if (!usage || usage.estimated) return estimateTokens(text);
  return Math.max(usage.outputTokens - usage.reasoningTokens, Math.floor(leastTokens(text)));
}

/** Parts in which an answer is written at most, where its provider stops each of them at a length of its own. */
const MAX_PARTS = 64;
/** A part that is shorter, in UTF-16 code units, gets no further: no provider stops answers so early. */
const LEAST_PROGRESS = 100;

/**
 * Whether a text that was stopped at a length goes on: below its own bound (`left`: tokens that this part could have),
 * within the budget, and getting longer.
 */
export function goesOn(
  run: ResearchRun,
  part: { written: Written; text: string; usage: Finish['usage']; parts: number; tokens: number; left: number },
): boolean {
  const { written, text, usage, parts, tokens, left } = part;
  if (written.cut !== null || text.trim().length < LEAST_PROGRESS || parts >= MAX_PARTS) return false;
  return !spentAnswerBudget(run, usage) && left - tokens >= LEAST_PART;
}

/** The answer is whole: a run that is taken up from here on needs no model any more. */
export function answeredStep(run: ResearchRun, { cut }: Written, usage: Finish['usage']): Step {
  return { type: 'note', entry: noted(run.state, { t: 'answered', usage, cut }) };
}

/**
 * What follows a turn of the answer that failed: the next try, or the failure of the run.
 * @throws GatewayError
 */
export async function* recover(
  run: ResearchRun,
  failure: { thrown: unknown; tries: Tries; context: Context; asked: AnswerRequest; answer?: CountedPart },
): AsyncGenerator<Step> {
  const { asked, ...rest } = failure;
  try {
    yield* afterCut(run, { ...rest, estimate: asked.estimate, asked: asked.request.maxOutputTokens ?? 0 });
  } catch (thrown) {
    if (thrown instanceof GatewayError && failure.thrown instanceof TurnError && failure.thrown.saysNothing)
      throw new NothingWritten(thrown.message, { cause: thrown });
    if (!(thrown instanceof ContextWall)) throw thrown;
    throw new GatewayError('context_length_exceeded', thrown.message, { cause: thrown });
  }
}
