import { joinSpaces } from '../../base/text.ts';
import { estimateRequest, estimateTokens } from '../../upstream/decoding/estimate.ts';
import type { TurnMessage, TurnRequest } from '../../upstream/turn.ts';
import type { Context } from '../context/context.ts';
import { planTail } from '../plan/plan-messages.ts';
import { responseFormat, structuredFormat } from '../run/request.ts';
import type { ContextRun, ResearchRun } from '../run/run.ts';
import type { Step } from '../run/steps.ts';
import { fittedMessages, hints, sampling } from '../turns.ts';
import type { StructuredFormat } from './schema/structured.ts';

/** The request that asks for the answer, or for the rest of one that was cut. */

/** A request of the answer turn, and its size by the gateway's estimate. */
export interface AnswerRequest {
  request: TurnRequest;
  estimate: number;
}

/** Titles that are longer are cut, in UTF-16 code units. */
const MAX_TITLE = 80;
/** Sources that are listed with their titles; the numbers of all stand in the findings. */
const MAX_LISTED = 100;
/** Room for thoughts where a model spent the whole length of an answer on them. */
const THINKING_TOKENS = 8192;

/** The most tokens that the answer may have. */
export function answerLimit({ request, model }: ResearchRun): number {
  return Math.min(request.maxOutputTokens ?? model.max_completion_tokens, model.max_completion_tokens);
}

/** How a text is asked for. */
export interface AskedHow {
  /** What was written before it was cut. */
  soFar: string;
  /** Nothing was written the first time: perhaps because thoughts took all of its length, or because of tool calls. */
  again: boolean;
  /** The model calls tools though it must not: they are no longer shown to it. */
  withoutTools: boolean;
}

/** Makes a request; one for which room has to be made first gives that as a step. */
export type Asking = AsyncGenerator<Step, AnswerRequest> | Promise<AnswerRequest>;

/** The request, and the steps before it. */
export async function* asked(asking: Asking): AsyncGenerator<Step, AnswerRequest> {
  return 'next' in asking ? yield* asking : await asking;
}

export interface AnswerAsk extends AskedHow {
  context: Context;
  /** What follows the request for the answer. */
  tail?: readonly TurnMessage[];
}

/** The request for the answer. It goes on where the research turns ended, with the same tools, none of which may be called. */
export async function* answerRequest(run: ResearchRun, ask: AnswerAsk): AsyncGenerator<Step, AnswerRequest> {
  const { context, soFar, again } = ask;
  const format = structuredFormat(run);
  const tail = [...askForAnswer(run, ask), ...(ask.tail ?? [])];
  const left = answerTokensLeft(run, soFar, answerLimit(run)) + (again ? THINKING_TOKENS : 0);
  const { request, estimate } = yield* closingRequest(run, { ...ask, context, tail, left });
  return { request: { ...request, ...(format ? { responseFormat: responseFormat(format) } : {}) }, estimate };
}

/** A request that goes on where the research turns ended, with the same tools, none of which may be called. */
export async function* closingRequest(
  run: ResearchRun,
  of: Omit<AnswerAsk, 'again'> & { left?: number },
): AsyncGenerator<Step, AnswerRequest> {
  const { context, soFar, withoutTools } = of;
  const tail = [...planTail(run), ...(of.tail ?? []), ...askToContinue(run, soFar)];
  const { messages, estimate, stable } = yield* fittedMessages(run, { context, tail, most: run.purse.answerInput });
  const tools = withoutTools ? [] : context.opening.tools;
  const offered = tools.length > 0 ? { tools, toolChoice: 'none' as const } : {};
  return textRequest(run, { ...of, messages, estimate, stable, offered });
}

/**
 * A request for a text: of `left` tokens at most, with what its model, its window and the run's purse allow. `stable`:
 * how many of the messages stand in later requests as they are.
 */
export function textRequest(
  run: ResearchRun,
  of: { context: Context; messages: TurnMessage[]; stable: number; soFar?: string; left?: number } & {
    offered?: Pick<TurnRequest, 'tools' | 'toolChoice'>;
    estimate?: number;
  },
): AnswerRequest {
  const { context, messages, stable, soFar = '', left = Number.POSITIVE_INFINITY, offered } = of;
  const { estimate = estimateRequest(messages) } = of;
  const affordable = run.purse.answerTokens(context.window.counted(estimate));
  const most = Math.min(left, run.model.max_completion_tokens, context.window.roomToWrite(estimate), affordable);
  const request: TurnRequest = {
    messages,
    ...offered,
    maxOutputTokens: Math.max(16, most),
    // A crash may have come between the last word of a text and its end.
    ...(soFar.trim() === '' ? {} : { mayBeEmpty: true }),
    ...hints(run, stable),
    ...sampling(run),
  };
  return { request, estimate };
}

/** The tokens that a text may still have, by what was counted of it; older transcripts hold no count. */
export function answerTokensLeft(run: ResearchRun, soFar: string, limit: number): number {
  const { answerTokens } = run.state;
  return limit - (answerTokens > 0 ? answerTokens : estimateTokens(soFar));
}

/** What asks for the answer, behind what was found. */
export function askForAnswer(run: ContextRun, { context, again }: Pick<AnswerAsk, 'context' | 'again'>): TurnMessage[] {
  const { request, state, prompts, fence } = run;
  const format = structuredFormat(run);
  const notes = context.ownNotes();
  const ask = prompts.answer({
    forced: state.forced ? `Research has ended early (${state.forced.why}); say what remains open.` : '',
    notes: notes === '' ? '' : `What you noted meanwhile:\n${fence.around(notes)}`,
    sources: listedSources(run, context.window.threshold * LISTED_SHARE),
    format: format ? schemaText(format) : '',
    charts: !format && request.charts === true,
  });
  return [{ role: 'user', content: again ? `${ask}\n\n${prompts.answerNow()}` : ask }];
}

/** What asks for the rest of a text that was cut. */
export function askToContinue({ prompts }: ResearchRun, soFar: string): TurnMessage[] {
  if (soFar.trim() === '') return [];
  return [
    { role: 'assistant', content: soFar },
    { role: 'user', content: prompts.continueAnswer() },
  ];
}

/** The part of a request that the list of sources may fill. */
const LISTED_SHARE = 0.1;

/** The sources with their titles, those first that were read. Titles come from outside: they are fenced. */
function listedSources({ state, fence }: ContextRun, tokens: number): string {
  const all = state.sources.all();
  if (all.length === 0) return 'none';
  let left = tokens;
  const lines = all
    .toSorted((a, b) => Number(b.kind === 'read') - Number(a.kind === 'read') || a.id - b.id)
    .slice(0, MAX_LISTED)
    .map(({ id, title, url }) => ({ id, line: `[${id}] ${joinSpaces(title || url).slice(0, MAX_TITLE)}` }));
  const end = lines.findIndex(({ line }) => {
    left -= estimateTokens(line) + 0.5;
    return left < 0;
  });
  const chosen = (end === -1 ? lines : lines.slice(0, Math.max(1, end))).sort((a, b) => a.id - b.id);
  const rest = all.length > chosen.length ? `\nand more up to [${all.length}], as numbered in what was found` : '';
  return `\n${fence.around(chosen.map(({ line }) => line).join('\n'))}${rest}`;
}

/** What a structured answer has to be, in words for the model. */
export function schemaText(format: StructuredFormat): string {
  const shape =
    format.type === 'json_schema'
      ? `that is valid under this JSON Schema: ${JSON.stringify(format.schema)}`
      : 'that is an object';
  return `The answer must be one JSON value ${shape}. Write nothing but that JSON.`;
}
