import { fieldError } from '../../base/errors.ts';
import type { JsonObject } from '../../base/json.ts';
import { contentText } from '../../base/text.ts';
import type { KeyConfig, ModelConfig, Profile, ResearchModelConfig } from '../../config/schema.ts';
import { UPDATE_PLAN } from '../../protocol/plan.ts';
import { parseValue } from '../../protocol/requests/parse.ts';
import type { TextFormat } from '../../protocol/requests/request-formats.ts';
import { type InputItem, inputItem, requireQuestion } from '../../protocol/requests/request-input.ts';
import { isClientTool } from '../../protocol/requests/request-tools.ts';
import type { CreateChatCompletion, CreateResponse } from '../../protocol/requests/requests.ts';
import { withThreadTools } from '../../protocol/requests/thread-settings.ts';
import type { ResponseObject } from '../../protocol/response.ts';
import type { SchemaChecker } from '../../research/answer/schema/schema-job.ts';
import { requireUsableSchema } from '../../research/answer/schema/structured.ts';
import { minCost } from '../../research/run/cost-budget.ts';
import { ASK_USER } from '../../research/run/own-tools.ts';
import type { BuiltinTools, ConversationMessage, FollowUp, ResearchRequest } from '../../research/run/request.ts';
import type { Conversations } from '../../runs/conversations.ts';
import type { Runs } from '../../runs/runs.ts';
import type { Caller } from '../../runs/submission.ts';
import { minTokens } from '../../upstream/decoding/estimate.ts';
import { highestPrice } from '../../upstream/price.ts';
import { applyToolChoice } from './chosen-tools.ts';
import { functionsIn, requireFunctions } from './client-tools.ts';
import {
  type ContentSources,
  type ConversationOptions,
  chatMessages,
  checkSealed,
  citableDocuments,
  contentReadersFor,
  resolveFiles,
} from './conversation.ts';
import { answersEarlierCalls, approvedCalls, functionOutputs, resumeFromThread } from './function-outputs.ts';
import { approvalRules, type RequestedTools, requestedTools, requireServers, type ToolFields } from './input-tools.ts';
import { createItemLookup } from './references.ts';
import { effortOf, type OptionsBody, readThreadSettings, runOptions } from './research-options.ts';
import { shownTools } from './shown-tools.ts';

/** Who sent the request to which model, and where its references are looked up. */
export interface SubmissionContext extends ContentSources {
  caller: Caller;
  key: KeyConfig;
  /** The model's name and configuration. */
  name: string;
  model: ResearchModelConfig;
  runs: Pick<Runs, 'conversation' | 'findItems' | 'history' | 'resumeResearch' | 'settings'>;
  schemas: SchemaChecker;
  /** The tools that the request names, if any. */
  tools?: BuiltinTools | null;
  /** The conversation that the request belongs to. */
  joined?: { items: JsonObject[]; lastResearch(): Promise<Omit<FollowUp, 'history'>> } | undefined;
}

/**
 * Turns a body of `POST /v1/responses` into a request to the research loop (docs/api.md, "POST /v1/responses").
 * @throws GatewayError for everything that cannot be honoured.
 */
export async function fromResponse(body: CreateResponse, context: SubmissionContext): Promise<ResearchRequest> {
  const { caller, model, runs } = context;
  const profile = profileOf(context);
  const previous = body.previous_response_id;
  const settings = await readThreadSettings(body, context);
  const text = [body.instructions ?? '', textIn(body.input)];
  const textOptions = settings?.format ? { format: settings.format } : body.text;
  const common = commonParts(
    { ...body, text: textOptions, tools: withThreadTools(body.tools, settings) },
    { ...context, text },
  );
  checkAnswerLength(body.max_output_tokens, { model, param: 'max_output_tokens' });
  const instructions = body.instructions ?? null;
  const itemContext = { ...context, tools: common.tools, param: 'input', instructions };
  const options = conversationOptions(body.input, itemContext);
  const { input, ...answered } = await readAnswers(body.input, options, { all: previous !== undefined });
  const goingOn = await runs.resumeResearch(caller, { previous, isStored: body.store !== false, ...answered });
  const isUnstored = body.store === false && !goingOn;
  const { before, goesOn } = (isUnstored && resumeFromThread(input, common.functions)) || { before: input };
  await checkSealed(input, options, goingOn ? 0 : before.length);
  requireServers(approvedCalls(goingOn?.goesOn ?? goesOn), common);
  const { answersQuestion = false, ...earlier } =
    previous === undefined || goingOn ? await readJoinedConversation(context) : await runs.history(caller, previous);
  const { history = [] } = earlier;
  const isTakenOver = !goingOn && (await answersEarlierCalls(before, { ...context, previous }));
  const asked = isTakenOver ? history.findLastIndex(({ role }) => role === 'user') : -1;
  if (!goingOn && asked === -1) requireQuestion(before);
  const thread = goingOn ?? {
    ...(asked !== -1 && { history: history.slice(0, asked) }),
    conversation: [
      ...(asked === -1 ? [] : history.slice(asked)),
      ...(await readConversation(before, itemContext, options)),
    ],
    instructions,
    earlierSources: earlier.earlierSources ?? [],
    ...(goesOn && { goesOn }),
  };
  return {
    ...common,
    ...earlier,
    // No second clarifying question without research in between.
    ...(answersQuestion && { clarify: false }),
    ...thread,
    earlierSources: [...thread.earlierSources, ...citableDocuments(thread.conversation)],
    effort: effortOf(settings) ?? body.reasoning?.effort ?? model.research.effort,
    maxOutputTokens: body.max_output_tokens ?? null,
    format: await formatOf(textOptions?.format, { ...context, param: 'text.format.schema' }),
    ...(settings && { settings }),
    ...(body.reasoning?.summary && { reasoningSummary: body.reasoning.summary }),
    ...(profile && { profile }),
  };
}

/**
 * The current state of the conversation that a request names.
 * @throws GatewayError `conflicting_parameters`, and as `Conversations.join`.
 */
export async function joinConversation(
  { conversation, previous_response_id }: Pick<CreateResponse, 'conversation' | 'previous_response_id'>,
  conversations: Conversations,
  caller: Caller,
) {
  if (conversation === undefined) return undefined;
  if (previous_response_id === undefined) return await conversations.join(caller, conversation);
  const what = 'cannot be combined with previous_response_id: each says what came before.';
  throw fieldError('conflicting_parameters', 'conversation', what);
}

/** The parts of a submission's context that its thread needs. */
type ThreadContext = Omit<SubmissionContext, 'schemas'>;

/** Reads the whole thread: the earlier response or conversation, if the request names one, and the input. */
export async function researchThread(
  { input, previous_response_id: id }: Pick<CreateResponse, 'input' | 'previous_response_id'>,
  context: ThreadContext,
): Promise<ConversationMessage[]> {
  const { caller, runs } = context;
  const { history = [] } = id === undefined ? await readJoinedConversation(context) : await runs.history(caller, id);
  return [...history, ...(await readConversation(input, { ...context, param: 'input' }))];
}

/** The history that a conversation adds to a response. */
async function readJoinedConversation({ joined, ...context }: ThreadContext): Promise<Partial<FollowUp>> {
  if (!joined) return {};
  const items = joined.items.map((item) => parseValue(inputItem, item));
  const history = await readConversation(items, { ...context, param: 'conversation', isStored: true });
  return { history, ...(await joined.lastResearch()) };
}

/**
 * Turns a body of chat completions or Async into a request to the research loop (docs/api.md, "Async" and "Chat completions").
 * @throws GatewayError for everything that cannot be honoured.
 */
export async function fromChat(
  body: Omit<CreateChatCompletion, 'webhook'>,
  context: SubmissionContext,
): Promise<ResearchRequest> {
  const { caller, model, runs } = context;
  const common = commonParts(body, { ...context, text: [textIn(body.messages)] });
  checkAnswerLength(body.max_completion_tokens, { model, param: 'max_completion_tokens' });
  checkAnswerLength(body.max_tokens, { model, param: 'max_tokens' });
  const itemContext = { ...context, tools: common.tools, param: 'messages' };
  const options = conversationOptions(body.messages, itemContext);
  const { input, ...answered } = await readAnswers(body.messages, options, { all: false });
  return {
    ...common,
    ...((await runs.resumeResearch(caller, { isStored: true, ...answered })) ?? {
      conversation: await readConversation(input, itemContext, options),
      instructions: null,
    }),
    effort: body.reasoning_effort ?? body.reasoning?.effort ?? model.research.effort,
    maxOutputTokens: body.max_completion_tokens ?? body.max_tokens ?? null,
    format: await formatOf(body.response_format, { ...context, param: 'response_format.json_schema.schema' }),
  };
}

/** A body with its tools, and those of its thread. */
type BodyWithTools = OptionsBody & Pick<ToolFields, 'tools'>;

function commonParts(body: BodyWithTools, context: SubmissionContext & { text: readonly string[] }) {
  const tools = requestedTools(body, {
    offered: context.model.research.tools,
    key: context.key,
    limits: body.research?.sources ?? context.model.research.sources,
  });
  checkMaxCost(body.max_cost, context);
  return {
    kind: 'research' as const,
    history: [],
    earlierSources: [],
    ...tools,
    ...runOptions(body, context),
    ...functionParts(body, { ...context, requested: tools }),
    ...approvalRules(body.tools),
    ...(body.max_cost !== undefined && { maxCost: body.max_cost }),
    maxToolCalls: body.max_tool_calls ?? null,
    temperature: body.temperature ?? null,
    topP: body.top_p ?? null,
  };
}

/** The client's own functions, and which of all tools may or must be called. */
function functionParts(
  { tools = [], tool_choice: choice = 'auto', parallel_tool_calls: parallel }: BodyWithTools,
  { model, requested }: SubmissionContext & { requested: RequestedTools },
): Partial<ResearchRequest> & Pick<ResearchRequest, 'toolChoice'> {
  const own = model.research.tools;
  requireFunctions(tools);
  const functions = functionsIn(tools, [...own, UPDATE_PLAN, ASK_USER]);
  if (choice === 'none') return { toolChoice: 'none' };
  if (functions.length === 0) {
    if (choice === 'auto') return { toolChoice: 'auto' };
    const what = 'only "auto" and "none" are supported where there are no functions.';
    throw fieldError('unsupported_parameter', 'tool_choice', what);
  }
  const hosted = requested.tools ?? { builtin: [...own], allowedDomains: [] };
  const chosen = applyToolChoice({ tools: functions, hosted, mcpServers: requested.mcpServers }, choice);
  return {
    toolChoice: 'auto',
    ...(chosen.tools.length > 0 && { functions: chosen.tools }),
    ...(parallel === false && { oneFunctionAtOnce: true }),
    ...(chosen.hosted !== hosted && { tools: chosen.hosted, mcpServers: chosen.mcpServers }),
    ...(chosen.toolChoice !== 'auto' && { functionChoice: chosen.toolChoice }),
  };
}

/** The fields of the response about functions, if there are any. */
export function shownFunctions(
  { tools = [], tool_choice: choice, parallel_tool_calls: parallel = true }: CreateResponse,
  { functions, toolChoice }: ResearchRequest,
): { shown?: Partial<ResponseObject> } {
  if (!functions) return {};
  const shown = { tools: shownTools(tools.filter(isClientTool)), tool_choice: choice ?? toolChoice };
  return { shown: { ...shown, parallel_tool_calls: parallel } };
}

/**
 * The profile of a response: it decides about its items and events, and whether it is streamed by default (docs/api.md,
 * "The profile of OpenAI").
 */
export function profileOf({ key, model }: Pick<SubmissionContext, 'key' | 'model'>): Profile | undefined {
  return key.profile ?? model.profile;
}

/** Where items are from. */
interface ItemLocation extends Pick<ConversationOptions, 'isStored'> {
  param: string;
  instructions?: string | null;
}

/** No tokenizer has longer tokens on average over a whole text, in UTF-16 code units. */
const MAX_UNITS_PER_TOKEN = 8;

async function readConversation(
  items: readonly InputItem[],
  context: ThreadContext & ItemLocation,
  options = conversationOptions(items, context),
): Promise<ConversationMessage[]> {
  const conversation = await chatMessages(items, options);
  checkWindow([{ content: context.instructions ?? '' }, ...conversation], context);
  return conversation;
}

/** Reads the function outputs of an input, and resolves only the files that belong to them. */
async function readAnswers(items: readonly InputItem[], options: ConversationOptions, { all }: { all: boolean }) {
  const last = items.findLastIndex(({ type }) => type === 'prior_output');
  const from = last === -1 ? items.length : all ? 0 : last + 1;
  const input = await resolveFiles(items, options, from);
  return { input, ...functionOutputs(input, { all }) };
}

/** The options for all items of a request. Use one object for all, because it counts the bytes of its files. */
function conversationOptions(
  items: readonly InputItem[],
  { caller, model, runs, param, isStored = false, tools = null, ...sealed }: ThreadContext & ItemLocation,
): ConversationOptions {
  const canOpenUrls = (tools?.builtin ?? model.research.tools).includes('fetch_url_content');
  return {
    model,
    field: param,
    isStored,
    findItem: createItemLookup(items, { runs, caller, field: param }),
    ...contentReadersFor(caller, sealed, { canOpenUrls, window: model.context_length }),
  };
}

/** Refuses messages that exceed the window of every route, whatever its tokenizer (docs/api.md, "Errors"). */
export function checkWindow(
  messages: readonly { content: string | readonly { type: string; text?: string }[] }[],
  { model, key, name, param }: { model: ModelConfig; key: KeyConfig; name: string; param: string },
): void {
  const units = messages
    .flatMap(({ content }) => (typeof content === 'string' ? [{ type: 'text', text: content }] : content))
    .reduce((sum, { text = '' }) => sum + text.length, 0);
  const routes = key.routes[name] ?? model.routes;
  const window = Math.max(model.context_length, ...routes.map((route) => route.context_length ?? 0));
  if (units <= window * MAX_UNITS_PER_TOKEN) return;
  const message = `it has ${units} characters, more than the ${window} tokens of this model can be.`;
  throw fieldError('context_length_exceeded', param, message);
}

/** Tokens of the gateway's own prompts in every run. */
const PROMPT_TOKENS = 700;

/** Refuses a `max_cost` for routes without prices, and one that is too small for the answer alone. */
function checkMaxCost(
  maxCost: number | undefined,
  { key, name, model, text }: SubmissionContext & { text: readonly string[] },
): void {
  if (maxCost === undefined) return;
  const price = highestPrice([...(key.routes[name] ?? model.routes), ...(model.research.reader ?? [])]);
  if (!price) {
    const what = 'the routes of this model have no price, so that its cost cannot be bounded.';
    throw fieldError('unsupported_parameter', 'max_cost', what);
  }
  const tokens = text.reduce((sum, part) => sum + minTokens(part), PROMPT_TOKENS);
  const least = minCost(price, tokens);
  if (maxCost >= least) return;
  const what = `an answer to this costs at least ${Number(least.toPrecision(2))}.`;
  throw fieldError('invalid_parameter', 'max_cost', what);
}

function textIn(items: readonly InputItem[]): string {
  return items.map((item) => (item.type === 'message' ? contentText(item.content) : '')).join('\n');
}

function checkAnswerLength(
  tokens: number | undefined,
  { model, param }: { model: ResearchModelConfig; param: string },
): void {
  const max = model.max_completion_tokens;
  if (tokens === undefined || tokens <= max) return;
  throw fieldError('invalid_parameter', param, `this model writes at most ${max} tokens.`);
}

/** The format of a structured answer. A schema that cannot be checked is refused now rather than after the answer. */
async function formatOf(
  format: TextFormat | undefined,
  checking: Pick<SubmissionContext, 'schemas' | 'signal'> & { param: string },
): Promise<TextFormat | null> {
  if (format === undefined || format.type === 'text') return null;
  await requireUsableSchema(format, checking);
  return format;
}
