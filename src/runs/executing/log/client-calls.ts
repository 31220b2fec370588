import { itemId } from '../../../base/ids.ts';
import type { JsonObject } from '../../../base/json.ts';
import type { UnnumberedEvent } from '../../../protocol/events.ts';
import type { CustomToolCallItem, FunctionCallItem } from '../../../protocol/items.ts';
import {
  type ClientSearchCall,
  execAction,
  type McpApprovalRequest,
  patchOperation,
  type ShellItem,
  shellAction,
  type ToolSearchItem,
} from '../../../protocol/openai/items.ts';
import { parseLimitedJson } from '../../../protocol/requests/json-spans.ts';
import type { ShellTool } from '../../../research/run/request.ts';
import type { FunctionCall } from '../../../research/run/steps.ts';
import { objectIn, serverNames } from './call-items.ts';
import { type LogItem, type Position, wholeItem } from './log-item.ts';

/** How calls that the client makes or approves appear in a log: each is complete from the start. */

type ClientItem = FunctionCallItem | CustomToolCallItem | McpApprovalRequest | ClientSearchCall | ShellItem;

/**
 * The items of calls that the client makes, from `index` on, each after the search that found its function, if any. A
 * definition is sent once: a model may call one function a hundred times, and its definition may be long.
 */
export function* clientCallItems(
  calls: readonly FunctionCall[],
  { run, index }: Position,
): Generator<LogItem<ClientItem | ToolSearchItem>> {
  const known = new Set<string>();
  let next = index;
  for (const call of calls) {
    const found = call.found && newlyFound(call.found, call.name, known);
    if (found) {
      yield* searchItems(found, { run, index: next });
      next += 2;
    }
    yield clientCallItem(call, { run, index: next++ });
  }
}

/** The part of a search result that is new: nothing for a `known` function, and a namespace's description only once. */
function newlyFound(found: JsonObject, name: string, known: Set<string>): JsonObject | undefined {
  const space = found.type === 'namespace' ? `${found.name}.` : '';
  if (known.has(space + name)) return undefined;
  known.add(space + name);
  if (space === '') return found;
  const isKnown = known.has(space);
  known.add(space);
  return isKnown ? { ...found, description: '' } : found;
}

function searchItems(found: JsonObject, { run, index }: Position): LogItem<ToolSearchItem>[] {
  const search = { call_id: null, execution: 'server', status: 'completed' } as const;
  const paths = [String(found.name)];
  const items: ToolSearchItem[] = [
    { id: itemId('tsc', run, { output: index }), type: 'tool_search_call', arguments: { paths }, ...search },
    { id: itemId('tso', run, { output: index + 1 }), type: 'tool_search_output', tools: [found], ...search },
  ];
  return items.map((item, n) => wholeItem(index + n, item, { initial: { ...item, status: 'in_progress' } }));
}

function clientCallItem(call: FunctionCall, { run, index }: Position): LogItem<ClientItem> {
  if (call.as === 'custom') return customCall(call, { run, index });
  if (call.as === 'search') return searchCall(call, { run, index });
  if (call.as === 'approval') return approvalRequest(call, { run, index });
  if (call.as !== undefined) return shellCall({ ...call, as: call.as }, { run, index });
  const { callId, name, namespace, arguments: args } = call;
  const id = itemId('fc', run, { output: index });
  const common = { call_id: callId, name, ...(namespace !== undefined && { namespace }) };
  const initial = { id, type: 'function_call', ...common, arguments: '', status: 'in_progress' } as const;
  const item: FunctionCallItem = { ...initial, arguments: args, status: 'completed' };
  return wholeItem(index, item, {
    initial,
    events: (place) => [
      { type: 'response.function_call_arguments.delta', ...place, delta: args },
      { type: 'response.function_call_arguments.done', ...place, name, arguments: args },
    ],
  });
}

/** A call that the client approves or denies; OpenAI has no events of its own for it. */
function approvalRequest(
  { name, arguments: args }: FunctionCall,
  { run, index }: Position,
): LogItem<McpApprovalRequest> {
  const id = itemId('mcpr', run, { output: index });
  const item: McpApprovalRequest = { id, type: 'mcp_approval_request', ...serverNames(name), arguments: args };
  return wholeItem(index, item);
}

/** A search for more tools, which the client makes. */
function searchCall(
  { callId: call_id, arguments: args }: FunctionCall,
  { run, index }: Position,
): LogItem<ClientSearchCall> {
  const id = itemId('tsc', run, { output: index });
  const call = {
    id,
    type: 'tool_search_call',
    call_id,
    execution: 'client',
    // JSON nested too deeply to be written again stays a string.
    arguments: parseLimitedJson(args) ?? args,
  } as const;
  return wholeItem<ClientSearchCall>(
    index,
    { ...call, status: 'completed' },
    { initial: { ...call, status: 'in_progress' } },
  );
}

/** A call of a client's custom tool, whose input is plain text. */
function customCall(
  { callId, name, namespace, arguments: input }: FunctionCall,
  { run, index }: Position,
): LogItem<CustomToolCallItem> {
  const id = itemId('ctc', run, { output: index });
  const common = { call_id: callId, name, ...(namespace !== undefined && { namespace }) };
  const initial = { id, type: 'custom_tool_call', ...common, input: '', status: 'in_progress' } as const;
  const item: CustomToolCallItem = { ...initial, input, status: 'completed' };
  return wholeItem(index, item, {
    initial,
    events: (place) => [
      { type: 'response.custom_tool_call_input.delta', ...place, delta: input },
      { type: 'response.custom_tool_call_input.done', ...place, input },
    ],
  });
}

/** A call of a shell or of `apply_patch`. OpenAI has events of its own only for shell commands. */
function shellCall(call: FunctionCall & { as: ShellTool }, { run, index }: Position): LogItem<ShellItem> {
  const { initial, item } = shellItem(call, { run, index });
  const commands = item.type === 'shell_call' ? item.action.commands : [];
  const events = commands.flatMap((command, n): UnnumberedEvent[] => {
    const place = { output_index: index, command_index: n };
    return [
      { type: 'response.shell_call_command.added', ...place, command: '' },
      { type: 'response.shell_call_command.delta', ...place, delta: command },
      { type: 'response.shell_call_command.done', ...place, command },
    ];
  });
  return wholeItem(index, item, { initial, events: () => events });
}

function shellItem(
  { callId: call_id, arguments: args, as }: FunctionCall & { as: ShellTool },
  { run, index }: Position,
): { initial: ShellItem; item: ShellItem } {
  const id = (prefix: 'lsh' | 'sh' | 'apc') => itemId(prefix, run, { output: index });
  const input = objectIn(args);
  const open = { call_id, status: 'in_progress' } as const;
  const done = { call_id, status: 'completed' } as const;
  switch (as) {
    case 'local_shell': {
      const item = { id: id('lsh'), type: 'local_shell_call', action: execAction.parse(input) } as const;
      return { initial: { ...item, ...open }, item: { ...item, ...done } };
    }
    case 'shell': {
      const action = shellAction.parse(input);
      const item = { id: id('sh'), type: 'shell_call', action, environment: { type: 'local' } } as const;
      return { initial: { ...item, ...open, action: { ...action, commands: [] } }, item: { ...item, ...done } };
    }
    case 'apply_patch': {
      const item = { id: id('apc'), type: 'apply_patch_call', operation: patchOperation.parse(input) } as const;
      return { initial: { ...item, ...open }, item: { ...item, ...done } };
    }
  }
}
