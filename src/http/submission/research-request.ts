import { GatewayError } from '../../base/errors.ts';
import { isObject, type JsonObject } from '../../base/json.ts';
import type { KeyConfig, Profile, ResearchModelConfig, RouteConfig } from '../../config/schema.ts';
import type { TextFormat } from '../../protocol/requests/request-formats.ts';
import type { InputItem } from '../../protocol/requests/request-input.ts';
import type { CreateChatCompletion, CreateResponse } from '../../protocol/requests/requests.ts';
import type { SchemaChecker } from '../../research/answer/schema/schema-job.ts';
import { requireUsableSchema } from '../../research/answer/schema/structured.ts';
import { highestPrice, leastCost } from '../../research/run/money.ts';
import type { ConversationMessage, ResearchRequest } from '../../research/run/request.ts';
import type { Caller, Runs } from '../../runs/runs.ts';
import { leastTokens } from '../../upstream/decoding/estimate.ts';
import { chatMessages } from './conversation.ts';
import { requestedTools } from './input-tools.ts';

/** Who asks which model, and where references are looked up. */
export interface SubmissionContext {
  caller: Caller;
  key: KeyConfig;
  /** The model's name and configuration. */
  name: string;
  model: ResearchModelConfig;
  runs: Pick<Runs, 'findItem' | 'history'>;
  schemas: SchemaChecker;
  signal: AbortSignal;
}

/**
 * A body of `POST /v1/responses` as a request to the research loop (contract section 3).
 * @throws GatewayError for everything that cannot be honoured.
 */
export async function fromResponse(body: CreateResponse, context: SubmissionContext): Promise<ResearchRequest> {
  const { caller, model, runs } = context;
  const profile = profileOf(context);
  const common = commonParts(body, { ...context, text: [body.instructions ?? '', textIn(body.input)] });
  checkAnswerLength(body.max_output_tokens, { model, param: 'max_output_tokens' });
  const earlier = body.previous_response_id === undefined ? {} : await runs.history(caller, body.previous_response_id);
  return {
    ...common,
    ...earlier,
    conversation: await conversationIn(body.input, { ...context, param: 'input' }),
    instructions: body.instructions ?? null,
    effort: body.reasoning?.effort ?? model.research.effort,
    maxOutputTokens: body.max_output_tokens ?? null,
    format: await formatOf(body.text?.format, { ...context, param: 'text.format.schema' }),
    ...(body.reasoning?.summary && { reasoningSummary: body.reasoning.summary }),
    ...(profile && { profile }),
  };
}

/**
 * A body of chat completions or Async as a request to the research loop (contract sections 6 and 7).
 * @throws GatewayError for everything that cannot be honoured.
 */
export async function fromChat(body: CreateChatCompletion, context: SubmissionContext): Promise<ResearchRequest> {
  const { model } = context;
  const common = commonParts(body, { ...context, text: [textIn(body.messages)] });
  checkAnswerLength(body.max_completion_tokens, { model, param: 'max_completion_tokens' });
  checkAnswerLength(body.max_tokens, { model, param: 'max_tokens' });
  return {
    ...common,
    conversation: await conversationIn(body.messages, { ...context, param: 'messages' }),
    instructions: null,
    effort: body.reasoning_effort ?? body.reasoning?.effort ?? model.research.effort,
    maxOutputTokens: body.max_completion_tokens ?? body.max_tokens ?? null,
    format: await formatOf(body.response_format, { ...context, param: 'response_format.json_schema.schema' }),
  };
}

function commonParts(
  body: CreateResponse | CreateChatCompletion,
  context: SubmissionContext & { text: readonly string[] },
) {
  const tools = requestedTools(body, context);
  checkMaxCost(body.max_cost, context);
  return {
    kind: 'research' as const,
    history: [],
    earlierSources: [],
    ...tools,
    toolChoice: body.tool_choice ?? 'auto',
    ...(body.max_cost !== undefined && { maxCost: body.max_cost }),
    maxToolCalls: body.max_tool_calls ?? null,
    temperature: body.temperature ?? null,
    topP: body.top_p ?? null,
  };
}

/** Whose items and events a response has, and whether it is streamed unless that is asked for (contract section 9). */
export function profileOf({ key, model }: Pick<SubmissionContext, 'key' | 'model'>): Profile | undefined {
  return key.profile ?? model.profile;
}

/** Input items as the client sent them, for `input_items` (contract section 5). A string is one user message. */
export function sentItems(input: unknown, part: 'input_text' | 'text'): JsonObject[] {
  if (typeof input === 'string') {
    return [{ type: 'message', role: 'user', content: [{ type: part, text: input }] }];
  }
  const items = Array.isArray(input) ? input.filter((item): item is JsonObject => isObject(item)) : [];
  return items.map((item) => ('type' in item ? item : { type: 'message', ...item }));
}

/** UTF-16 code units that no token is shorter than, over a whole text. */
const UNITS_OF_TOKEN = 8;

async function conversationIn(
  items: readonly InputItem[],
  { caller, key, name, model, runs, param }: SubmissionContext & { param: string },
): Promise<ConversationMessage[]> {
  const findItem = (id: string) => runs.findItem(caller, id);
  const conversation = await chatMessages(items, { model, field: param, findItem });
  checkQuestionLength(conversation, { model, routes: key.routes[name] ?? model.routes, param });
  return conversation;
}

/** Refuses what no route can read, beyond doubt: whatever counts its tokens (contract section 2). */
function checkQuestionLength(
  conversation: readonly ConversationMessage[],
  { model, routes, param }: { model: ResearchModelConfig; routes: readonly RouteConfig[]; param: string },
): void {
  const window = Math.max(model.context_length, ...routes.map((route) => route.context_length ?? 0));
  let units = 0;
  for (const message of conversation)
    for (const part of message.content) if (part.type === 'text') units += part.text.length;
  if (units <= window * UNITS_OF_TOKEN) return;
  const message = `${param}: it has ${units} characters, more than the ${window} tokens of this model can be.`;
  throw new GatewayError('context_length_exceeded', message, { param });
}

/** Tokens of the prompts that every run has beside what the client sends. */
const PROMPT_TOKENS = 700;

/** Refuses a bound on the cost that cannot be counted, or that not even the answer alone keeps. */
function checkMaxCost(
  maxCost: number | undefined,
  { key, name, model, text }: SubmissionContext & { text: readonly string[] },
): void {
  if (maxCost === undefined) return;
  const price = highestPrice([...(key.routes[name] ?? model.routes), ...(model.research.reader ?? [])]);
  if (!price) {
    const message = 'max_cost: the routes of this model have no price, so that its cost cannot be bounded.';
    throw new GatewayError('unsupported_parameter', message, { param: 'max_cost' });
  }
  const tokens = text.reduce((sum, part) => sum + leastTokens(part), PROMPT_TOKENS);
  const least = leastCost(price, tokens);
  if (maxCost >= least) return;
  const message = `max_cost: an answer to this costs at least ${Number(least.toPrecision(2))}.`;
  throw new GatewayError('invalid_parameter', message, { param: 'max_cost' });
}

/** The text of input items. */
function textIn(items: readonly InputItem[]): string {
  return items
    .flatMap((item) => (item.type === 'message' ? item.content : []))
    .map((part) => (part.type === 'text' ? part.text : ''))
    .join('\n');
}

function checkAnswerLength(
  tokens: number | undefined,
  { model, param }: { model: ResearchModelConfig; param: string },
): void {
  const most = model.max_completion_tokens;
  if (tokens === undefined || tokens <= most) return;
  throw new GatewayError('invalid_parameter', `${param}: this model writes at most ${most} tokens.`, { param });
}

/** The format of a structured answer. A schema that cannot be checked is refused now, not when the answer is there. */
async function formatOf(
  format: TextFormat | undefined,
  checking: Pick<SubmissionContext, 'schemas' | 'signal'> & { param: string },
): Promise<TextFormat | null> {
  if (format === undefined || format.type === 'text') return null;
  await requireUsableSchema(format, checking);
  return format;
}
