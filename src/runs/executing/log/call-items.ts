import { itemId } from '../../../base/ids.ts';
import { isJsonObject, isObject, type JsonObject, parseJson } from '../../../base/json.ts';
import type { Profile } from '../../../config/schema.ts';
import type { UnnumberedEvent } from '../../../protocol/events.ts';
import type { OutputItem, ToolCallItem, UrlCitation } from '../../../protocol/items.ts';
import type {
  CodeInterpreterCall,
  FileSearchCall,
  McpCall,
  McpListTools,
  OpenAiCall,
  WebSearchCall,
} from '../../../protocol/openai/items.ts';
import type { EndedCall, ListedServer, StartedCall } from '../../../research/run/steps.ts';
import { fileIdIn } from '../../../tools/attached-file.ts';
import { beginItem, itemDone, type LogItem, type Place, type Position, wholeItem } from './log-item.ts';

/**
 * How tool calls appear in a log: as `tool_call` items, or as OpenAI's own item types (docs/api.md, "The profile of
 * OpenAI", `profile`).
 */

export type CallItem = ToolCallItem | OpenAiCall;

export function isCallItem(item: OutputItem): item is CallItem {
  return CALL_TYPES.has(item.type);
}
const CALL_TYPES: ReadonlySet<OutputItem['type']> = new Set([
  'tool_call',
  'web_search_call',
  'file_search_call',
  'code_interpreter_call',
  'mcp_call',
]);

/**
 * The output index of each tool call, by the call's number. Calls below `earlier` belong to earlier responses, except
 * the `approved` ones, which this response makes before all others.
 */
export function callIndexes(
  output: readonly OutputItem[],
  { hidden, earlier, approved }: { hidden: ReadonlySet<number>; earlier: number; approved: readonly number[] },
): number[] {
  const indexes: number[] = [];
  const approvals = approved.values();
  let call = earlier;
  for (const [index, item] of output.entries()) {
    if (!isCallItem(item) || item.lane !== undefined) continue;
    const { value } = approvals.next();
    while (value === undefined && hidden.has(call)) call++;
    indexes[value ?? call++] = index;
  }
  return indexes;
}

/** The items of a lane's finished calls, with output indexes from `index` on: all of them begin, then all of them end. */
export function* laneCallItems(
  calls: readonly EndedCall[],
  { lane, index: first, ...options }: Position & { profile: Profile | undefined; lane: number },
): Generator<LogItem<CallItem>> {
  const open = calls.map((call, at) => beginCall(call, { ...options, index: first + at }));
  for (const { index, item, events } of open) {
    const laneEvents = events.map((event) =>
      event.type === 'response.output_item.added' ? { ...event, item: { ...event.item, lane } } : event,
    );
    yield { index, item, events: laneEvents };
  }
  for (const [at, call] of calls.entries()) {
    const item = open[at]?.item;
    if (item) yield endCall({ ...item, lane }, { index: first + at, ...call });
  }
}

/** A call that begins at `index` of the output. */
export function beginCall(
  call: StartedCall,
  { profile, ...at }: Position & { profile: Profile | undefined },
): LogItem<CallItem> {
  if (profile === undefined) {
    const id = itemId('tc', at.run, { output: at.index });
    const { name, arguments: args } = call;
    const item: ToolCallItem = { id, type: 'tool_call', name, arguments: args, status: 'in_progress' };
    return beginItem(at.index, item);
  }
  const args = objectIn(call.arguments);
  switch (call.name) {
    case 'web_search':
      return beginSearch({ type: 'search', ...searchQueries(args), sources: [] }, at);
    case 'fetch_url_content':
      return beginSearch({ type: 'open_page', url: textIn(args.url) }, at);
    case 'file_search':
      return beginFileSearch(searchQueries(args).queries, at);
    case 'execute_python':
      return beginCode(textIn(args.code), at);
    default:
      return beginMcp(call, at);
  }
}

/** An open call once its result is there. */
export function endCall(
  open: CallItem,
  { index, status, result }: { index: number; status: 'completed' | 'failed'; result: string },
): LogItem<CallItem> {
  const item = withResult(open, { status, result });
  const events: UnnumberedEvent[] = [];
  const place = { output_index: index, item_id: item.id };
  if (item.type === 'mcp_call') events.push({ type: `response.mcp_call.${status}`, ...place });
  // OpenAI has no event for a call that failed: its item says so.
  else if (item.type !== 'tool_call' && item.status === 'completed')
    events.push({ type: `response.${item.type}.completed`, ...place });
  events.push(itemDone(index, item));
  return { index, item, events };
}

/** Splits the name under which a tool of an MCP server is offered, `<server>.<tool>`. */
export function serverNames(offered: string): { server_label: string; name: string } {
  const dot = offered.indexOf('.');
  return { server_label: offered.slice(0, Math.max(0, dot)), name: offered.slice(dot + 1) };
}

/** The item that lists an MCP server's tools, at the start of a run of OpenAI's profile. */
export function listedTools({ label, tools, error }: ListedServer, { run, index }: Position): LogItem<McpListTools> {
  const item: McpListTools = {
    id: itemId('mcpl', run, { output: index }),
    type: 'mcp_list_tools',
    server_label: label,
    tools: tools.map(({ name, description, parameters }) => ({ name, description, input_schema: parameters })),
    ...(error !== undefined && { error }),
  };
  const { error: _, ...initial } = item;
  const outcome = error === undefined ? 'completed' : 'failed';
  return wholeItem(index, item, {
    initial: { ...initial, tools: [] },
    events: (place) => [
      { type: 'response.mcp_list_tools.in_progress', ...place },
      { type: `response.mcp_list_tools.${outcome}`, ...place },
    ],
  });
}

function beginSearch(action: WebSearchCall['action'], { run, index }: Position): LogItem<WebSearchCall> {
  const id = itemId('ws', run, { output: index });
  return searchItem(index, { id, type: 'web_search_call', status: 'in_progress', action });
}

function beginFileSearch(queries: string[], { run, index }: Position): LogItem<FileSearchCall> {
  const id = itemId('fs', run, { output: index });
  return searchItem(index, { id, type: 'file_search_call', status: 'in_progress', queries, results: null });
}

function searchItem<T extends WebSearchCall | FileSearchCall>(index: number, item: T): LogItem<T> {
  const events = (place: Place): UnnumberedEvent[] => [
    { type: `response.${item.type}.in_progress`, ...place },
    { type: `response.${item.type}.searching`, ...place },
  ];
  return beginItem(index, item, { events });
}

function beginCode(code: string, { run, index }: Position): LogItem<CodeInterpreterCall> {
  const id = itemId('ci', run, { output: index });
  const container_id = `cntr_${run.replaceAll('-', '')}`;
  const base = { id, type: 'code_interpreter_call', status: 'in_progress', container_id } as const;
  const item: CodeInterpreterCall = { ...base, code, outputs: [] };
  return beginItem(index, item, {
    initial: { ...item, code: '' },
    events: (place) => [
      { type: 'response.code_interpreter_call.in_progress', ...place },
      { type: 'response.code_interpreter_call_code.delta', ...place, delta: code },
      { type: 'response.code_interpreter_call_code.done', ...place, code },
      { type: 'response.code_interpreter_call.interpreting', ...place },
    ],
  });
}

function beginMcp(call: StartedCall, { run, index }: Position): LogItem<McpCall> {
  const item: McpCall = {
    id: itemId('mcp', run, { output: index }),
    type: 'mcp_call',
    status: 'in_progress',
    ...serverNames(call.name),
    arguments: call.arguments,
    output: null,
    error: null,
    approval_request_id: call.approval ?? null,
  };
  return beginItem(index, item, {
    initial: { ...item, arguments: '' },
    events: (place) => [
      { type: 'response.mcp_call.in_progress', ...place },
      { type: 'response.mcp_call_arguments.delta', ...place, delta: call.arguments },
      { type: 'response.mcp_call_arguments.done', ...place, arguments: call.arguments },
    ],
  });
}

function withResult(item: CallItem, { status, result }: { status: 'completed' | 'failed'; result: string }): CallItem {
  switch (item.type) {
    case 'tool_call':
      return { ...item, result, status };
    case 'web_search_call': {
      const { action } = item;
      return { ...item, status, action: action.type === 'search' ? { ...action, sources: sourcesIn(result) } : action };
    }
    case 'file_search_call':
      return { ...item, status, results: status === 'completed' ? passagesIn(result) : null };
    case 'code_interpreter_call':
      return {
        ...item,
        status: raised(result) ? 'completed' : status,
        outputs: [{ type: 'logs', logs: logsIn(result) }],
      };
    case 'mcp_call':
      return status === 'failed' ? { ...item, status, error: mcpError(result) } : { ...item, status, output: result };
  }
}

/** The queries of a search, under any of the names that its tool takes. */
export function searchQueries({ queries, query, q }: JsonObject): { query: string; queries: string[] } {
  const texts = [queries, query, q].flat().filter((text) => typeof text === 'string');
  return { query: texts[0] ?? '', queries: texts };
}

function sourcesIn(result: string): { type: 'url'; url: string }[] {
  const { results } = objectIn(result);
  if (!Array.isArray(results)) return [];
  return results.flatMap((found) =>
    isObject(found) && typeof found.url === 'string' ? [{ type: 'url' as const, url: found.url }] : [],
  );
}

function passagesIn(result: string): NonNullable<FileSearchCall['results']> {
  const { results } = objectIn(result);
  return (Array.isArray(results) ? results : []).flatMap((found) => {
    if (!isJsonObject(found)) return [];
    const { page, section, score, attributes } = found;
    return {
      file_id: fileIdIn(textIn(found.url)) ?? '',
      filename: textIn(found.title),
      score: typeof score === 'number' ? score : 0,
      text: textIn(found.snippet),
      attributes: attributesIn(attributes),
      ...(typeof page === 'number' && { page }),
      ...(typeof section === 'string' && { section }),
    };
  });
}

/** The attributes of a file; `{}` if it has none, because some clients require the field. */
function attributesIn(value: unknown): Record<string, string | number | boolean> {
  const entries = isJsonObject(value) ? Object.entries(value) : [];
  return Object.fromEntries(
    entries.flatMap(([name, item]): [string, string | number | boolean][] =>
      typeof item === 'string' || typeof item === 'number' || typeof item === 'boolean' ? [[name, item]] : [],
    ),
  );
}

/** A citation as OpenAI has it: a numbered one of a user's file names the file's id. */
export function asOpenAi(citation: UrlCitation): UrlCitation {
  const file_id = fileIdIn(citation.url);
  if (file_id === undefined || citation.index === null) return citation;
  return { ...citation, type: 'file_citation', file_id, filename: citation.title };
}

/**
 * Whether an exception of the program itself ended it. For OpenAI such a call is completed, with the traceback among its
 * logs: only one that the interpreter could not carry out has failed, and clients stop at those.
 */
function raised(result: string): boolean {
  const { error } = objectIn(result);
  return isObject(error) && error.code === 'python_error';
}

/** What a program printed and returned, or its error. */
function logsIn(result: string): string {
  const { stdout, stderr, result: value, error } = objectIn(result);
  const parts = [stdout, stderr, value, isObject(error) ? messageIn(result) : error];
  return parts.filter((part) => typeof part === 'string' && part !== '').join('\n');
}

function mcpError(result: string): McpCall['error'] {
  return { type: 'mcp_tool_execution_error', content: [{ type: 'text', text: messageIn(result) }] };
}

function messageIn(result: string): string {
  const { error } = objectIn(result);
  return isObject(error) && typeof error.message === 'string' ? error.message : result;
}

/** The value if it is a string, else ''. */
export function textIn(value: unknown): string {
  return typeof value === 'string' ? value : '';
}

/** The JSON object that a text holds; `{}` if it holds anything else. */
export function objectIn(text: string): JsonObject {
  const value = parseJson(text);
  return isJsonObject(value) ? value : {};
}
