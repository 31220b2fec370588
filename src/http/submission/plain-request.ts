import { fieldError } from '../../base/errors.ts';
import { isObject, type JsonObject } from '../../base/json.ts';
import type { KeyConfig, ProxyModelConfig, ToolsConfig } from '../../config/schema.ts';
import type { PlainRequest } from '../../plain/request.ts';
import { parseBody, parseValue } from '../../protocol/requests/parse.ts';
import { type PlainResponseBody, plainResponseBody } from '../../protocol/requests/plain-response.ts';
import { inputItem, withoutTrigger } from '../../protocol/requests/request-input.ts';
import type { ResponseTool } from '../../protocol/requests/request-tools.ts';
import {
  placedTools,
  requireFewTools,
  settingsBehind,
  type ThreadSettings,
  toolsIn,
  withSettings,
} from '../../protocol/requests/thread-settings.ts';
import type { ResponseObject } from '../../protocol/response.ts';
import type { Caller, Runs } from '../../runs/runs.ts';
import type { TurnMessage } from '../../upstream/turn.ts';
import type { JsonBody } from '../middleware/body.ts';
import { chosenAmong } from './chosen-tools.ts';
import { functionsIn, refuseGrammars, toolSearches } from './client-tools.ts';
import { droppedItems, openedFor, type Sealed } from './conversation.ts';
import { ignoredHeader } from './ignored.ts';
import { approvalRules, BUILTIN_OF_TYPE, ignoredToolParts, requestedTools, requireServers } from './input-tools.ts';
import type { ParsedSubmission } from './parse-submission.ts';
import { plainMessages, type SaidSoFar } from './plain-messages.ts';
import { boundedLookUp } from './references.ts';
import { checkWindow } from './research-request.ts';
import { shownTools } from './shown-tools.ts';

/** The built-in tools that clients of a plain model may name. */
export function offeredTools({ tools }: ProxyModelConfig, { web_search: search }: ToolsConfig): string[] {
  const canSearch = [search, ...search.fallbacks].some(({ provider, folder }) => provider !== 'local' || folder);
  return tools.filter((name) => name !== 'web_search' || canSearch);
}

/** Of `include`: thoughts carry what their provider wants back. */
const ENCRYPTED = 'reasoning.encrypted_content';
/** Of `include`: how probable the tokens of the answer are. */
const LOGPROBS = 'message.output_text.logprobs';
/** What `include` may name and gets: what tools found is shown in any case. */
const INCLUDED = [
  ENCRYPTED,
  LOGPROBS,
  'web_search_call.action.sources',
  'code_interpreter_call.outputs',
  'file_search_call.results',
];

/** A body, and whether it asks for a summary in place of an answer. */
type PlainBody = PlainResponseBody & { compacts?: true };

/**
 * The body of a response that the gateway makes of a plain model. Clients name tools of their usual provider with every
 * request: those that the gateway does not offer (`offered` names those it does) are left out and named. So are
 * probabilities of tokens where no route tells them (`reportsLogprobs`). `enforcesGrammars`: every route holds a model to one.
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
  const said = withoutTrigger(json.input);
  // One that names what came before need not add anything.
  const follows = json.previous_response_id != null || json.conversation != null;
  const input = said ?? json.input ?? (follows ? [] : undefined);
  const parsed = parseBody(plainResponseBody, { ...json, input });
  const lists = placedTools(parsed.value, json);
  if (!enforcesGrammars) refuseGrammars(lists);
  const { include = [], top_logprobs: others } = parsed.value;
  const granted = INCLUDED.filter((name) => name !== LOGPROBS || reportsLogprobs);
  const ignored = [...parsed.ignored, ...(others !== undefined && !reportsLogprobs ? ['top_logprobs'] : [])];
  const value = {
    ...parsed.value,
    include: include.filter((name) => granted.includes(name)),
    top_logprobs: reportsLogprobs ? others : undefined,
    ...(said && { compacts: true as const }),
  };
  const leftOut = lists.flatMap(({ tools, place }) =>
    tools.flatMap((tool, index) => (isOffered(tool, offered) ? [] : [`${place}[${index}]`])),
  );
  const parts = [...toolSearches(lists), ...ignoredToolParts(lists, search.provider)];
  const included = include.flatMap((name, index) => (granted.includes(name) ? [] : [`include[${index}]`]));
  const names = [...ignored, ...leftOut, ...parts, ...included, ...droppedItems(value.input, 'input')];
  // The Messages API alone tells no probabilities, and it has no verbosity either.
  const text = reportsLogprobs && isObject(json.text) ? { ...json.text, verbosity: null } : json.text;
  return { value, headers: ignoredHeader(names, { ...json, text, tools: undefined }) };
}

function isOffered({ type }: ResponseTool, offered: readonly string[]): boolean {
  return type === 'web_search' || type === 'code_interpreter' ? offered.includes(BUILTIN_OF_TYPE[type][0]) : true;
}

/** What a plain model is asked, and what of the request the response shows besides. */
export interface PlainSubmission {
  request: PlainRequest;
  shown: Partial<ResponseObject>;
}

/** Who asks, and where what the request names is looked up. */
export interface PlainContext extends Sealed {
  caller: Caller;
  /** The model's name and configuration. */
  name: string;
  model: ProxyModelConfig;
  runs: Pick<Runs, 'findItems' | 'conversation'>;
  key: KeyConfig;
  /** Names of the built-in tools that the model's clients may use. */
  offered: readonly string[];
  /** The conversation that it takes part in. */
  joined: { items: JsonObject[] } | undefined;
}

/**
 * A parsed body as a request to the plain loop (docs/api.md, "Responses of plain models").
 * @throws GatewayError `not_found` for unknown references, `invalid_parameter` where calls and outputs do not fit.
 */
export async function fromPlainResponse(body: PlainBody, context: PlainContext): Promise<PlainSubmission> {
  if (body.input.length === 0 && body.previous_response_id === undefined && !context.joined) {
    throw fieldError('invalid_parameter', 'input', 'must not be empty.');
  }
  const { settings, ...said } = await plainThread(body, context);
  if (said.messages.length === 0 && !said.approved && !body.instructions) {
    throw fieldError('invalid_parameter', 'input', 'it says nothing.');
  }
  if (body.truncation !== 'auto') checkWindow(said.messages, { ...context, param: 'input' });
  const offered = { ...body, tools: withSettings(body.tools, settings) };
  const tools = chosenTools(body.compacts ? {} : offered, context);
  requireServers(said.approved?.message.tool_calls ?? [], tools);
  const approvals = approvalRules(body.tools);
  const asksLogprobs = body.include?.includes(LOGPROBS) || (body.top_logprobs ?? 0) > 0;
  const request: PlainRequest = {
    kind: 'plain',
    ...said,
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
  return { request, shown: shownOf(body, context) };
}

/** Where a request names no threshold: what of the window is left is for the answer. */
const DEFAULT_THRESHOLD = 0.75;

function compactAt({ context_management: [asked] = [] }: PlainResponseBody, { model }: PlainContext) {
  return asked && (asked.compact_threshold ?? Math.floor(model.context_length * DEFAULT_THRESHOLD));
}

/** What was said so far: in an earlier response or a conversation, if one is named, and in the input. */
export async function plainThread(
  { input, previous_response_id: id }: Pick<PlainResponseBody, 'input' | 'previous_response_id'>,
  { caller, model, runs, joined, ...sealed }: Omit<PlainContext, 'key' | 'name' | 'offered'>,
): Promise<SaidSoFar & { settings: ThreadSettings | undefined }> {
  const { messages: before, asked, settings } = id === undefined ? NOTHING_BEFORE : await runs.conversation(caller, id);
  requireFewTools(toolsIn(joined?.items ?? []), 'conversation');
  const said = (joined?.items ?? []).map((item) => parseValue(inputItem, item));
  const items = [...said, ...input];
  const messages = await plainMessages(items, {
    model,
    field: 'input',
    kept: said.length,
    findItem: boundedLookUp(items, { runs, caller, field: 'input' }),
    ...openedFor(caller, sealed, {
      opens: false,
      window: model.context_length,
      takesPdf: model.files,
      sentBefore: sentIn(before),
    }),
    before,
    asked,
  });
  return { ...messages, settings: settingsBehind(items, settings) };
}

const NOTHING_BEFORE = { messages: [], asked: undefined, settings: undefined };

/** The bytes of images, files and audio that go to a model again. */
function sentIn(messages: readonly TurnMessage[]): number {
  const parts = messages.flatMap(({ content }) => (typeof content === 'string' ? [] : content));
  const base64 = parts.reduce((sum, part) => {
    if (part.type === 'text') return sum;
    if (part.type === 'image_url') return sum + part.image_url.url.length;
    return sum + (part.type === 'file' ? part.file.file_data : part.input_audio.data).length;
  }, 0);
  return (base64 * 3) / 4;
}

/** The tools on offer, and which of them may be called. */
export function chosenTools(
  { tools = [], tool_choice: choice = 'auto' }: Pick<PlainResponseBody, 'tools' | 'tool_choice'>,
  { offered, key }: Pick<PlainContext, 'offered' | 'key'>,
): Pick<PlainRequest, 'tools' | 'hosted' | 'sources' | 'mcpServers' | 'toolChoice'> {
  const asked = requestedTools({ tools }, { offered, key });
  const hosted = asked.tools ?? { builtin: [], allowedDomains: [] };
  const functions = functionsIn(tools, hosted.builtin);
  const all = { tools: functions, hosted, mcpServers: asked.mcpServers, sources: asked.sources };
  return chosenAmong(all, choice);
}

/** What the response shows as it was sent. */
function shownOf(body: PlainResponseBody, { offered }: Pick<PlainContext, 'offered'>): Partial<ResponseObject> {
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
