import { fieldError } from '../../base/errors.ts';
import { isObject, type JsonObject } from '../../base/json.ts';
import type { KeyConfig, ProxyModelConfig, ToolsConfig } from '../../config/schema.ts';
import type { PlainRequest } from '../../plain/request.ts';
import { parseBody, parseValue } from '../../protocol/requests/parse.ts';
import { type PlainResponseBody, plainResponseBody } from '../../protocol/requests/plain-response.ts';
import { inputItem, withoutCompactionTrigger } from '../../protocol/requests/request-input.ts';
import type { ResponseTool } from '../../protocol/requests/request-tools.ts';
import {
  checkToolCount,
  settingsAfter,
  type ThreadSettings,
  toolListsOf,
  toolsIn,
  withThreadTools,
} from '../../protocol/requests/thread-settings.ts';
import type { ResponseObject } from '../../protocol/response.ts';
import type { Runs } from '../../runs/runs.ts';
import type { Caller } from '../../runs/submission.ts';
import type { TurnMessage } from '../../upstream/turn.ts';
import type { JsonBody } from '../middleware/body.ts';
import { applyToolChoice } from './chosen-tools.ts';
import { functionsIn, ignoredToolSearches, refuseGrammars } from './client-tools.ts';
import { type ContentSources, contentReadersFor, droppedItems } from './conversation.ts';
import { ignoredHeader } from './ignored.ts';
import { approvalRules, BUILTIN_OF_TYPE, ignoredToolParts, requestedTools, requireServers } from './input-tools.ts';
import type { ParsedSubmission } from './parse-submission.ts';
import { type PlainThread, plainMessages } from './plain-messages.ts';
import { createItemLookup } from './references.ts';
import { checkWindow } from './research-request.ts';
import { shownTools } from './shown-tools.ts';

/** The built-in tools that clients of a plain model may request. */
export function offeredTools({ tools }: ProxyModelConfig, { web_search: search }: ToolsConfig): string[] {
  const canSearch = [search, ...search.fallbacks].some(({ provider, folder }) => provider !== 'local' || folder);
  return tools.filter((name) => name !== 'web_search' || canSearch);
}

/** In `include`: reasoning items contain what their provider wants back. */
const ENCRYPTED = 'reasoning.encrypted_content';
/** In `include`: the probabilities of the answer's tokens. */
const LOGPROBS = 'message.output_text.logprobs';
/** Values of `include` that are honoured. The results of tools are shown in any case. */
const SUPPORTED_INCLUDES = [
  ENCRYPTED,
  LOGPROBS,
  'web_search_call.action.sources',
  'code_interpreter_call.outputs',
  'file_search_call.results',
];

/** A body. `compacts`: it requests a compaction instead of an answer. */
type PlainBody = PlainResponseBody & { compacts?: true };

/**
 * Parses the body of a response that the gateway makes itself. Clients send the tools of their usual provider with every
 * request, so tools that are not `offered` are dropped and reported as ignored. So are logprobs unless a route
 * `reportsLogprobs`. `enforcesGrammars`: every route does.
 * @throws GatewayError for everything in it that cannot be honoured.
 */
export function parsePlain(
  { json }: JsonBody,
  {
    offered,
    tools: { web_search: search },
    reportsLogprobs,
    enforcesGrammars,
  }: { offered: readonly string[]; tools: ToolsConfig; reportsLogprobs: boolean; enforcesGrammars: boolean },
): ParsedSubmission<PlainBody> {
  const toCompact = withoutCompactionTrigger(json.input);
  // A request that continues a thread need not add any input.
  const follows = json.previous_response_id != null || json.conversation != null;
  const input = toCompact ?? json.input ?? (follows ? [] : undefined);
  const parsed = parseBody(plainResponseBody, { ...json, input });
  const lists = toolListsOf(parsed.value, json);
  if (!enforcesGrammars) refuseGrammars(lists);
  const { include = [], top_logprobs: topLogprobs } = parsed.value;
  const granted = SUPPORTED_INCLUDES.filter((name) => name !== LOGPROBS || reportsLogprobs);
  const ignored = [...parsed.ignored, ...(topLogprobs !== undefined && !reportsLogprobs ? ['top_logprobs'] : [])];
  const value = {
    ...parsed.value,
    include: include.filter((name) => granted.includes(name)),
    top_logprobs: reportsLogprobs ? topLogprobs : undefined,
    ...(toCompact && { compacts: true as const }),
  };
  const leftOut = lists.flatMap(({ tools, place }) =>
    tools.flatMap((tool, index) => (isOffered(tool, offered) ? [] : [`${place}[${index}]`])),
  );
  const parts = [...ignoredToolSearches(lists), ...ignoredToolParts(lists, search.provider)];
  // The response repeats it, but no provider learns who the client's user is.
  const unsent = parsed.value.safety_identifier === undefined ? [] : ['safety_identifier'];
  const included = include.flatMap((name, index) => (granted.includes(name) ? [] : [`include[${index}]`]));
  const names = [...ignored, ...unsent, ...leftOut, ...parts, ...included, ...droppedItems(value.input, 'input')];
  // Only the Messages API reports no logprobs, and it has no verbosity either.
  const text = reportsLogprobs && isObject(json.text) ? { ...json.text, verbosity: null } : json.text;
  return { value, headers: ignoredHeader(names, { ...json, text, tools: undefined }) };
}

function isOffered({ type }: ResponseTool, offered: readonly string[]): boolean {
  return type === 'web_search' || type === 'code_interpreter' ? offered.includes(BUILTIN_OF_TYPE[type][0]) : true;
}

/** The request to the plain loop, and the fields of the response that repeat the client's request. */
export interface PlainSubmission {
  request: PlainRequest;
  shown: Partial<ResponseObject>;
}

/** Who sent the request, and where its references are looked up. */
export interface PlainContext extends ContentSources {
  caller: Caller;
  /** The model's name and configuration. */
  name: string;
  model: ProxyModelConfig;
  runs: Pick<Runs, 'findItems' | 'conversation'>;
  key: KeyConfig;
  /** The built-in tools that clients of the model may request. */
  offered: readonly string[];
  /** The conversation that the request belongs to. */
  joined: { items: JsonObject[] } | undefined;
}

/**
 * Turns a parsed body into a request to the plain loop (docs/api.md, "Responses of plain models").
 * @throws GatewayError `not_found` for unknown references, `invalid_parameter` if calls and outputs do not match.
 */
export async function fromPlainResponse(body: PlainBody, context: PlainContext): Promise<PlainSubmission> {
  if (body.input.length === 0 && body.previous_response_id === undefined && !context.joined) {
    throw fieldError('invalid_parameter', 'input', 'must not be empty.');
  }
  const { settings, ...thread } = await readPlainThread(body, context);
  if (thread.messages.length === 0 && !thread.approved && !body.instructions) {
    throw fieldError('invalid_parameter', 'input', 'it says nothing.');
  }
  if (body.truncation !== 'auto')
    checkWindow([{ content: body.instructions ?? '' }, ...thread.messages], { ...context, param: 'input' });
  const offered = { ...body, tools: withThreadTools(body.tools, settings) };
  const tools = plainTools(body.compacts ? {} : offered, context);
  requireServers(thread.approved?.message.tool_calls ?? [], tools);
  const approvals = approvalRules(body.tools);
  const asksLogprobs = body.include?.includes(LOGPROBS) || (body.top_logprobs ?? 0) > 0;
  const request: PlainRequest = {
    kind: 'plain',
    ...thread,
    instructions: body.instructions ?? null,
    ...tools,
    ...approvals,
    maxToolCalls: body.max_tool_calls ?? null,
    oneCallAtOnce: body.parallel_tool_calls === false,
    maxOutputTokens: body.max_output_tokens ?? null,
    temperature: body.temperature ?? null,
    topP: body.top_p ?? null,
    format: settings?.format ?? body.text?.format ?? null,
    reasoningEffort: settings?.effort ?? body.reasoning?.effort ?? null,
    ...(body.text?.verbosity !== undefined && { verbosity: body.text.verbosity }),
    reasoningSummary: body.reasoning?.summary,
    compactAt: compactAt(body, context),
    ...(body.truncation === 'auto' && { truncates: true }),
    ...(body.compacts && { compacts: true }),
    ...(body.include?.includes(ENCRYPTED) && { encryptedReasoning: true }),
    ...(asksLogprobs && { logprobs: body.top_logprobs ?? 0 }),
    cacheKey: body.prompt_cache_key,
    ...(settings && { settings }),
  };
  return { request, shown: shownFields(body, context) };
}

/** The share of the window at which a thread is compacted by default. The rest is for the answer. */
const DEFAULT_THRESHOLD = 0.75;

function compactAt({ context_management: [compaction] = [] }: PlainResponseBody, { model }: PlainContext) {
  return compaction && (compaction.compact_threshold ?? Math.floor(model.context_length * DEFAULT_THRESHOLD));
}

/** Reads the whole thread: the earlier response or conversation, if the request names one, and the input. */
export async function readPlainThread(
  { input, previous_response_id: id }: Pick<PlainResponseBody, 'input' | 'previous_response_id'>,
  { caller, model, runs, joined, ...sealed }: Omit<PlainContext, 'key' | 'name' | 'offered'>,
): Promise<PlainThread & Pick<PlainRequest, 'research'> & { settings: ThreadSettings | undefined }> {
  const {
    messages: before,
    pendingApprovals: approvals,
    settings,
    research,
  } = id === undefined ? EMPTY_THREAD : await runs.conversation(caller, id);
  checkToolCount(toolsIn(joined?.items ?? []), 'conversation');
  const joinedItems = (joined?.items ?? []).map((item) => parseValue(inputItem, item));
  const items = [...joinedItems, ...input];
  const messages = await plainMessages(items, {
    model,
    field: 'input',
    storedCount: joinedItems.length,
    findItem: createItemLookup(items, { runs, caller, field: 'input' }),
    ...contentReadersFor(caller, sealed, {
      canOpenUrls: false,
      window: model.context_length,
      takesPdf: model.files,
      sentBefore: attachedBytes(before),
    }),
    before,
    approvals,
  });
  return { ...messages, settings: settingsAfter(items, settings), ...(research !== undefined && { research }) };
}

const EMPTY_THREAD = { messages: [], pendingApprovals: undefined, settings: undefined, research: undefined };

/** The bytes of images, files and audio in earlier messages, which are sent to the model again. */
function attachedBytes(messages: readonly TurnMessage[]): number {
  const parts = messages.flatMap(({ content }) => (typeof content === 'string' ? [] : content));
  const base64 = parts.reduce((sum, part) => {
    if (part.type === 'text') return sum;
    if (part.type === 'image_url') return sum + part.image_url.url.length;
    return sum + (part.type === 'file' ? part.file.file_data : part.input_audio.data).length;
  }, 0);
  const made = messages.flatMap((message) => (message.role === 'assistant' ? (message.images ?? []) : []));
  return ((base64 + made.reduce((sum, { length }) => sum + length, 0)) * 3) / 4;
}

/** The offered tools, and which of them may be called. */
export function plainTools(
  { tools = [], tool_choice: choice = 'auto' }: Pick<PlainResponseBody, 'tools' | 'tool_choice'>,
  { offered, key }: Pick<PlainContext, 'offered' | 'key'>,
): Pick<PlainRequest, 'tools' | 'hosted' | 'sources' | 'mcpServers' | 'toolChoice'> {
  const requested = requestedTools({ tools }, { offered, key });
  const hosted = requested.tools ?? { builtin: [], allowedDomains: [] };
  const functions = functionsIn(tools, hosted.builtin);
  const all = { tools: functions, hosted, mcpServers: requested.mcpServers, sources: requested.sources };
  return applyToolChoice(all, choice);
}

/** The fields of the response that repeat the request. */
function shownFields(body: PlainResponseBody, { offered }: Pick<PlainContext, 'offered'>): Partial<ResponseObject> {
  const { tools = [], tool_choice: choice = 'auto', parallel_tool_calls: parallel = true, reasoning } = body;
  return {
    tools: shownTools(tools.filter((tool) => isOffered(tool, offered))),
    tool_choice: choice,
    max_tool_calls: body.max_tool_calls ?? null,
    parallel_tool_calls: parallel,
    reasoning: { effort: reasoning?.effort ?? null, summary: reasoning?.summary ?? null },
    truncation: body.truncation ?? 'disabled',
    top_logprobs: body.top_logprobs ?? 0,
    prompt_cache_key: body.prompt_cache_key ?? null,
    safety_identifier: body.safety_identifier ?? null,
  };
}
