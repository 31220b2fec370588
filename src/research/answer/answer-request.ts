import { collapseSpaces } from '../../base/text.ts';
import { estimateRequest, estimateTokens } from '../../upstream/decoding/estimate.ts';
import type { TurnMessage, TurnRequest } from '../../upstream/turn.ts';
import type { Context } from '../context/context.ts';
import { planTail } from '../plan/plan-messages.ts';
import { responseFormat, structuredFormat } from '../run/request.ts';
import type { ContextRun, ResearchRun } from '../run/run.ts';
import type { Step } from '../run/steps.ts';
import { cacheHints, fitMessages, samplingOf } from '../turns.ts';
import type { StructuredFormat } from './schema/structured.ts';

/** A request of the answer turn, and its size by the gateway's estimate. */
export interface AnswerRequest {
  request: TurnRequest;
  estimate: number;
}

/** Longer titles are cut, in UTF-16 code units. */
const MAX_TITLE = 80;
/** How many sources are listed with their titles; the findings have the numbers of all. */
const MAX_LISTED = 100;
/** Extra room for a model that spent the whole length of an answer on reasoning. */
const THINKING_TOKENS = 8192;

/** The limit of the answer, in tokens. */
export function answerLimit({ request, model }: ResearchRun): number {
  return Math.min(request.maxOutputTokens ?? model.max_completion_tokens, model.max_completion_tokens);
}

/** An attempt at writing a text. */
export interface TextAttempt {
  /** What was written before the text was cut off. */
  soFar: string;
  /** The first attempt wrote nothing, perhaps because reasoning took all of its length, or because it called tools. */
  again: boolean;
  /** The model called tools although it must not, so they are no longer offered. */
  withoutTools: boolean;
}

/** A request in the making. A generator first yields the step that compacts the context for it. */
export type RequestSource = AsyncGenerator<Step, AnswerRequest> | Promise<AnswerRequest>;

/** The finished request; yields the steps before it. */
export async function* resolveRequest(source: RequestSource): AsyncGenerator<Step, AnswerRequest> {
  return 'next' in source ? yield* source : await source;
}

export interface AnswerPrompt extends TextAttempt {
  context: Context;
  /** Messages that follow the instruction to answer. */
  tail?: readonly TurnMessage[];
}

/** The request for the answer. It continues the research turns, with the same tools, none of which may be called. */
export async function* answerRequest(run: ResearchRun, ask: AnswerPrompt): AsyncGenerator<Step, AnswerRequest> {
  const { context, soFar, again } = ask;
  const format = structuredFormat(run);
  const tail = [...askForAnswer(run, ask), ...(ask.tail ?? [])];
  const left = answerTokensLeft(run, soFar, answerLimit(run)) + (again ? THINKING_TOKENS : 0);
  const { request, estimate } = yield* closingRequest(run, { ...ask, context, tail, left });
  if (!format) return { request, estimate };
  return {
    request: { ...request, responseFormat: responseFormat(format), reasoningIsText: 'json' as const },
    estimate,
  };
}

/** A request that continues the research turns, with the same tools, none of which may be called. */
export async function* closingRequest(
  run: ResearchRun,
  prompt: Omit<AnswerPrompt, 'again'> & { again?: boolean; left?: number },
): AsyncGenerator<Step, AnswerRequest> {
  const { context, soFar, withoutTools } = prompt;
  const tail = [...planTail(run), ...(prompt.tail ?? []), ...askToContinue(run, soFar)];
  const { messages, estimate, stable } = yield* fitMessages(run, {
    context,
    tail,
    maxTokens: run.costBudget.maxAnswerInput,
  });
  const tools = withoutTools ? [] : context.opening.tools;
  const offered = tools.length > 0 ? { tools, toolChoice: 'none' as const } : {};
  return textRequest(run, { ...prompt, messages, estimate, stable, offered });
}

/**
 * A request for a text of at most `left` tokens, within the limits of the model, its window and the cost budget, of which
 * `reserved` is for others. `stable`: how many of the messages later requests repeat unchanged.
 */
export function textRequest(
  run: ResearchRun,
  options: { context: Context; messages: TurnMessage[]; stable: number; soFar?: string; left?: number } & {
    again?: boolean;
    offered?: Pick<TurnRequest, 'tools' | 'toolChoice'>;
    estimate?: number;
    reserved?: number;
  },
): AnswerRequest {
  const { context, messages, stable, soFar = '', left = Number.POSITIVE_INFINITY, offered } = options;
  const { estimate = estimateRequest(messages), reserved = 0 } = options;
  const affordable = run.costBudget.maxAnswerOutput(context.window.counted(estimate), { pending: reserved });
  const limit = Math.min(left, run.model.max_completion_tokens, context.window.roomToWrite(estimate), affordable);
  const request: TurnRequest = {
    messages,
    ...(offered?.tools?.length ? offered : { earlierTools: context.opening.tools }),
    maxOutputTokens: Math.max(16, limit),
    // After a crash the text may be complete already, so that the model has nothing to add.
    ...(soFar.trim() === '' ? {} : { mayBeEmpty: true }),
    // The second attempt asks for text without thoughts.
    ...(options.again && { reasoningIsText: 'any' as const }),
    ...cacheHints(run, stable),
    ...samplingOf(run),
  };
  return { request, estimate };
}

/** The tokens that a text may still have. Older transcripts hold no count of what is written, so it is estimated. */
export function answerTokensLeft(run: ResearchRun, soFar: string, limit: number): number {
  const { answerTokens } = run.state;
  return limit - (answerTokens > 0 ? answerTokens : estimateTokens(soFar));
}

/** The message that asks for the answer, after the research turns. */
export function askForAnswer(
  run: ContextRun,
  { context, again }: Pick<AnswerPrompt, 'context' | 'again'>,
): TurnMessage[] {
  const { request, state, prompts, fence } = run;
  const format = structuredFormat(run);
  const notes = context.ownNotes();
  const ask = prompts.answer({
    forced: state.forcedEnd ? `Research has ended early (${state.forcedEnd.why}); say what remains open.` : '',
    notes: notes === '' ? '' : `What you noted meanwhile:\n${fence.around(notes)}`,
    sources: listedSources(run, context.window.threshold * LISTED_SHARE),
    format: format ? schemaText(format) : '',
    charts: !format && request.charts === true,
  });
  return [{ role: 'user', content: again ? `${ask}\n\n${prompts.answerNow()}` : ask }];
}

/** The messages that ask for the rest of a text that was cut off. */
export function askToContinue({ prompts }: ResearchRun, soFar: string): TurnMessage[] {
  if (soFar.trim() === '') return [];
  return [
    { role: 'assistant', content: soFar },
    { role: 'user', content: prompts.continueAnswer() },
  ];
}

/** The share of a request that the list of sources may fill. */
const LISTED_SHARE = 0.1;

/** The sources with their titles; those that were read are chosen first. Titles come from outside, so they are fenced. */
function listedSources({ state, fence }: ContextRun, tokens: number): string {
  const all = state.sources.all();
  if (all.length === 0) return 'none';
  let left = tokens;
  const lines = all
    .toSorted((a, b) => Number(b.kind === 'read') - Number(a.kind === 'read') || a.id - b.id)
    .slice(0, MAX_LISTED)
    .map(({ id, title, url }) => ({ id, line: `[${id}] ${collapseSpaces(title || url).slice(0, MAX_TITLE)}` }));
  const end = lines.findIndex(({ line }) => {
    left -= estimateTokens(line) + 0.5;
    return left < 0;
  });
  const chosen = (end === -1 ? lines : lines.slice(0, Math.max(1, end))).sort((a, b) => a.id - b.id);
  const rest = all.length > chosen.length ? `\nand more up to [${all.length}], as numbered in what was found` : '';
  return `\n${fence.around(chosen.map(({ line }) => line).join('\n'))}${rest}`;
}

/** The required form of a structured answer, in words for the model. */
export function schemaText(format: StructuredFormat): string {
  const shape =
    format.type === 'json_schema'
      ? `that is valid under this JSON Schema: ${JSON.stringify(format.schema)}`
      : 'that is an object';
  return `The answer must be one JSON value ${shape}. Write nothing but that JSON.`;
}
