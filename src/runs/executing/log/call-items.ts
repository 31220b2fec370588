import { itemId, type RunId } from '../../../base/ids.ts';
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
} from '../../../protocol/openai-items.ts';
import type { EndedCall, ListedServer, StartedCall } from '../../../research/run/steps.ts';
import { fileIdIn } from '../../../tools/attached-file.ts';
import { begunItem, itemDone, type ToldItem, wholeItem } from './told-item.ts';

/**
 * How tool calls stand in a log: as `tool_call` items, or as OpenAI's own (docs/api.md, "The profile of OpenAI",
 * `profile`).
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
 * The places of calls in an output by their numbers, of which the first `before` stand in earlier ones; of these `first` are
 * made here, before all others.
 */
export function placesOfCalls(
  output: readonly OutputItem[],
  { hidden, before, first }: { hidden: ReadonlySet<number>; before: number; first: readonly number[] },
): number[] {
  const places: number[] = [];
  const approved = first.values();
  let call = before;
  for (const [index, item] of output.entries()) {
    if (!isCallItem(item) || item.lane !== undefined) continue;
    const { value } = approved.next();
    while (value === undefined && hidden.has(call)) call++;
    places[value ?? call++] = index;
  }
  return places;
}

/** Calls of a lane that have ended, by the places of their items from `first` on: all as begun, then all as ended. */
export function* endedCalls(
  calls: readonly EndedCall[],
  { lane, first, ...of }: { profile: Profile | undefined; run: RunId; first: number; lane: number },
): Generator<[index: number, told: ToldItem<CallItem>]> {
  const begun = calls.map((call, at) => beginCall(call, { ...of, index: first + at }));
  for (const [at, { item, events }] of begun.entries()) {
    const told = events.map((event) =>
      event.type === 'response.output_item.added' ? { ...event, item: { ...event.item, lane } } : event,
    );
    yield [first + at, { item, events: told }];
  }
  for (const [at, call] of calls.entries()) {
    const item = begun[at]?.item;
    if (item) yield [first + at, endCall({ ...item, lane }, { index: first + at, ...call })];
  }
}

/** A call that begins as item `index` of its run. */
export function beginCall(
  call: StartedCall,
  { profile, run, index }: { profile: Profile | undefined; run: RunId; index: number },
): ToldItem<CallItem> {
  const id = (prefix: 'tc' | 'ws' | 'fs' | 'ci' | 'mcp') => itemId(prefix, run, { output: index });
  if (profile === undefined) {
    const { name, arguments: args } = call;
    const item: ToolCallItem = { id: id('tc'), type: 'tool_call', name, arguments: args, status: 'in_progress' };
    return begunItem(index, item);
  }
  const args = objectIn(call.arguments);
  switch (call.name) {
    case 'web_search':
      return beginSearch({ type: 'search', ...searchQueries(args), sources: [] }, { id: id('ws'), index });
    case 'fetch_url_content':
      return beginSearch({ type: 'open_page', url: textIn(args.url) }, { id: id('ws'), index });
    case 'file_search':
      return beginFileSearch(searchQueries(args).queries, { id: id('fs'), index });
    case 'execute_python':
      return beginCode(textIn(args.code), { id: id('ci'), container: `cntr_${run.replaceAll('-', '')}`, index });
    default:
      return beginMcp(call, { id: id('mcp'), index });
  }
}

/** The same call when it is done. */
export function endCall(
  open: CallItem,
  { index, status, result }: { index: number; status: 'completed' | 'failed'; result: string },
): ToldItem<CallItem> {
  const item = ended(open, { status, result });
  const events: UnnumberedEvent[] = [];
  const place = { output_index: index, item_id: item.id };
  if (item.type === 'mcp_call') events.push({ type: `response.mcp_call.${status}`, ...place });
  // OpenAI has no event for one that failed: its item says so.
  else if (item.type !== 'tool_call' && status === 'completed')
    events.push({ type: `response.${item.type}.completed`, ...place });
  events.push(itemDone(index, item));
  return { item, events };
}

/** A tool of an MCP server is offered as `<server>.<tool>`. */
export function serverNames(offered: string): { server_label: string; name: string } {
  const dot = offered.indexOf('.');
  return { server_label: offered.slice(0, Math.max(0, dot)), name: offered.slice(dot + 1) };
}

/** The tools of an MCP server, as a run of OpenAI's profile begins with them. */
export function listedTools(
  { label, tools, error }: ListedServer,
  { run, index }: { run: RunId; index: number },
): ToldItem<McpListTools> {
  const item: McpListTools = {
    id: itemId('mcpl', run, { output: index }),
    type: 'mcp_list_tools',
    server_label: label,
    tools: tools.map(({ name, description, parameters }) => ({ name, description, input_schema: parameters })),
    ...(error !== undefined && { error }),
  };
  const { error: _, ...begun } = item;
  const outcome = error === undefined ? 'completed' : 'failed';
  return wholeItem(index, item, {
    shown: { ...begun, tools: [] },
    events: (place) => [
      { type: 'response.mcp_list_tools.in_progress', ...place },
      { type: `response.mcp_list_tools.${outcome}`, ...place },
    ],
  });
}

function beginSearch(
  action: WebSearchCall['action'],
  { id, index }: { id: string; index: number },
): ToldItem<WebSearchCall> {
  return searching(index, { id, type: 'web_search_call', status: 'in_progress', action });
}

function beginFileSearch(queries: string[], { id, index }: { id: string; index: number }): ToldItem<FileSearchCall> {
  return searching(index, { id, type: 'file_search_call', status: 'in_progress', queries, results: null });
}

function searching<T extends WebSearchCall | FileSearchCall>(index: number, item: T): ToldItem<T> {
  const events = (place: { output_index: number; item_id: string }): UnnumberedEvent[] => [
    { type: `response.${item.type}.in_progress`, ...place },
    { type: `response.${item.type}.searching`, ...place },
  ];
  return begunItem(index, item, { events });
}

function beginCode(
  code: string,
  { id, container, index }: { id: string; container: string; index: number },
): ToldItem<CodeInterpreterCall> {
  const begun = { id, type: 'code_interpreter_call', status: 'in_progress', container_id: container } as const;
  const item: CodeInterpreterCall = { ...begun, code, outputs: [] };
  return begunItem(index, item, {
    shown: { ...item, code: '' },
    events: (place) => [
      { type: 'response.code_interpreter_call.in_progress', ...place },
      { type: 'response.code_interpreter_call_code.delta', ...place, delta: code },
      { type: 'response.code_interpreter_call_code.done', ...place, code },
      { type: 'response.code_interpreter_call.interpreting', ...place },
    ],
  });
}

function beginMcp(call: StartedCall, { id, index }: { id: string; index: number }): ToldItem<McpCall> {
  const item: McpCall = {
    id,
    type: 'mcp_call',
    status: 'in_progress',
    ...serverNames(call.name),
    arguments: call.arguments,
    output: null,
    error: null,
    approval_request_id: call.approval ?? null,
  };
  return begunItem(index, item, {
    shown: { ...item, arguments: '' },
    events: (place) => [
      { type: 'response.mcp_call.in_progress', ...place },
      { type: 'response.mcp_call_arguments.delta', ...place, delta: call.arguments },
      { type: 'response.mcp_call_arguments.done', ...place, arguments: call.arguments },
    ],
  });
}

function ended(item: CallItem, { status, result }: { status: 'completed' | 'failed'; result: string }): CallItem {
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
      return { ...item, status, outputs: [{ type: 'logs', logs: logsIn(result) }] };
    case 'mcp_call':
      return status === 'failed' ? { ...item, status, error: mcpError(result) } : { ...item, status, output: result };
  }
}

export function searchQueries({ queries }: JsonObject): { query: string; queries: string[] } {
  const texts = [queries].flat().filter((query) => typeof query === 'string');
  return { query: texts[0] ?? '', queries: texts };
}

function sourcesIn(result: string): { type: 'url'; url: string }[] {
  const { results } = objectIn(result);
  if (!Array.isArray(results)) return [];
  return results.flatMap((found) =>
    isObject(found) && typeof found.url === 'string' ? [{ type: 'url' as const, url: found.url }] : [],
  );
}

/** What `file_search` found. */
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

/** Attributes of a file, which some clients want in any case. */
function attributesIn(value: unknown): Record<string, string | number | boolean> {
  const entries = isJsonObject(value) ? Object.entries(value) : [];
  return Object.fromEntries(
    entries.flatMap(([name, one]): [string, string | number | boolean][] =>
      typeof one === 'string' || typeof one === 'number' || typeof one === 'boolean' ? [[name, one]] : [],
    ),
  );
}

/** A citation as OpenAI has it: of a file of the user's by its id. One without a number stays that of an address. */
export function asOpenAi(citation: UrlCitation): UrlCitation {
  const file_id = fileIdIn(citation.url);
  if (file_id === undefined || citation.index === null) return citation;
  return { ...citation, type: 'file_citation', file_id, filename: citation.title };
}

/** What a program wrote, and what it came to. */
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

/** The text that a value is, else none. */
export function textIn(value: unknown): string {
  return typeof value === 'string' ? value : '';
}

/** The JSON object that a text holds; an empty one where it holds something else. */
export function objectIn(text: string): JsonObject {
  const value = parseJson(text);
  return isJsonObject(value) ? value : {};
}
