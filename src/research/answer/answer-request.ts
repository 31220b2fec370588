import type { TurnMessage, TurnRequest } from '../../upstream/turn.ts';
import type { Context } from '../context/context.ts';
import type { ResearchRun } from '../run/run.ts';
import { fence } from '../text/prose.ts';
import { estimateTokens } from '../text/tokens.ts';
import { sampling } from '../turns.ts';
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
export function outputLimit({ request, model }: ResearchRun): number {
  return Math.min(request.maxOutputTokens ?? model.max_completion_tokens, model.max_completion_tokens);
}

/** The format of a structured answer, or undefined where it is text. */
export function structuredFormat({ request: { format } }: ResearchRun): StructuredFormat | undefined {
  return format === null || format.type === 'text' ? undefined : format;
}

/**
 * The request for the answer. `soFar`: what was written before it was cut. `again`: nothing was written the first time,
 * perhaps because thoughts took all of its length. `tail`: what follows the request for the answer.
 */
export function answerRequest(
  run: ResearchRun,
  options: { context: Context; soFar: string; again: boolean; tail?: readonly TurnMessage[] },
): AnswerRequest {
  const { context, soFar, again } = options;
  const format = structuredFormat(run);
  const { messages, estimate } = context.messages([...askForAnswer(run, { soFar, again }), ...(options.tail ?? [])]);
  const left = outputLimit(run) - estimateTokens(soFar) + (again ? THINKING_TOKENS : 0);
  const most = Math.min(left, run.model.max_completion_tokens, context.window.roomToWrite(estimate));
  const request: TurnRequest = {
    messages,
    maxOutputTokens: Math.max(16, most),
    ...(format ? { responseFormat: responseFormat(format) } : {}),
    // A crash may have come between the last word of an answer and its end.
    ...(soFar.trim() === '' ? {} : { mayBeEmpty: true }),
    ...sampling(run),
  };
  return { request, estimate };
}

function askForAnswer(run: ResearchRun, { soFar, again }: { soFar: string; again: boolean }): TurnMessage[] {
  const { state, prompts } = run;
  const format = structuredFormat(run);
  const ask = prompts.answer({
    forced: state.forced ? `Research has ended early (${state.forced.why}); say what remains open.` : '',
    sources: listedSources(run),
    format: format ? schemaText(format) : '',
  });
  const messages: TurnMessage[] = [{ role: 'user', content: again ? `${ask}\n\n${prompts.answerNow()}` : ask }];
  if (soFar.trim() === '') return messages;
  return [...messages, { role: 'assistant', content: soFar }, { role: 'user', content: prompts.continueAnswer() }];
}

/** The sources with their titles, those first that were read. Titles come from outside: they are fenced. */
function listedSources({ state }: ResearchRun): string {
  const all = state.sources.all();
  if (all.length === 0) return 'none';
  const chosen = all
    .toSorted((a, b) => Number(b.kind === 'read') - Number(a.kind === 'read') || a.id - b.id)
    .slice(0, MAX_LISTED)
    .sort((a, b) => a.id - b.id);
  const lines = chosen.map(
    ({ id, title, url }) => `[${id}] ${(title || url).replace(/\s+/g, ' ').slice(0, MAX_TITLE)}`,
  );
  const rest = all.length > chosen.length ? `\nand more up to [${all.length}], as numbered in the tool results` : '';
  return `\n${fence(lines.join('\n'))}${rest}`;
}

/** What a structured answer has to be, in words for the model. */
export function schemaText(format: StructuredFormat): string {
  const shape =
    format.type === 'json_schema'
      ? `that is valid under this JSON Schema: ${JSON.stringify(format.schema)}`
      : 'that is an object';
  return `The answer must be one JSON value ${shape}. Write nothing but that JSON.`;
}

/** `text.format` in the words of chat completions. */
function responseFormat(format: StructuredFormat): NonNullable<TurnRequest['responseFormat']> {
  if (format.type === 'json_object') return { type: 'json_object' };
  const { name = 'answer', schema, strict } = format;
  return { type: 'json_schema', json_schema: { name, schema, ...(strict === undefined ? {} : { strict }) } };
}
