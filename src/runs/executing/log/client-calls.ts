import { itemId, type RunId } from '../../../base/ids.ts';
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
} from '../../../protocol/openai-items.ts';
import { parseReadable } from '../../../protocol/requests/json-spans.ts';
import type { FunctionCall, ShellTool } from '../../../research/run/steps.ts';
import { objectIn, serverNames } from './call-items.ts';
import { type ToldItem, wholeItem } from './told-item.ts';

/** How calls that the client is to make, or to approve, stand in a log: told whole. */

type ClientItem = FunctionCallItem | CustomToolCallItem | McpApprovalRequest | ClientSearchCall | ShellItem;

/**
 * Calls that the client is to make, from `index` on: each told whole, behind the search that found its function, if any.
 * What was found once is known: a model may call one function a hundred times, and its definition may be long.
 */
export function* clientCallItems(
  calls: readonly FunctionCall[],
  { run, index }: { run: RunId; index: number },
): Generator<ToldItem<ClientItem | ToolSearchItem>> {
  const known = new Set<string>();
  let at = index;
  for (const call of calls) {
    const found = call.found && foundAnew(call.found, call.name, known);
    if (found) {
      yield* searchItems(found, { run, index: at });
      at += 2;
    }
    yield clientCallItem(call, { run, index: at++ });
  }
}

/** What a search tells of a tool: nothing of a function that is `known`, and of a namespace its description once. */
function foundAnew(found: JsonObject, name: string, known: Set<string>): JsonObject | undefined {
  const space = found.type === 'namespace' ? `${found.name}.` : '';
  if (known.has(space + name)) return undefined;
  known.add(space + name);
  if (space === '') return found;
  const isTold = known.has(space);
  known.add(space);
  return isTold ? { ...found, description: '' } : found;
}

function searchItems(found: JsonObject, { run, index }: { run: RunId; index: number }): ToldItem<ToolSearchItem>[] {
  const search = { call_id: null, execution: 'server', status: 'completed' } as const;
  const paths = [String(found.name)];
  const items: ToolSearchItem[] = [
    { id: itemId('tsc', run, { output: index }), type: 'tool_search_call', arguments: { paths }, ...search },
    { id: itemId('tso', run, { output: index + 1 }), type: 'tool_search_output', tools: [found], ...search },
  ];
  return items.map((item, n) => wholeItem(index + n, item, { shown: { ...item, status: 'in_progress' } }));
}

function clientCallItem(call: FunctionCall, { run, index }: { run: RunId; index: number }): ToldItem<ClientItem> {
  if (call.as === 'custom') return customCall(call, { run, index });
  if (call.as === 'search') return searchCall(call, { run, index });
  if (call.as === 'approval') return approvalRequest(call, { run, index });
  if (call.as !== undefined) return shellCall({ ...call, as: call.as }, { run, index });
  const { callId, name, namespace, arguments: args } = call;
  const id = itemId('fc', run, { output: index });
  const named = { name, ...(namespace !== undefined && { namespace }) };
  const begun = { id, type: 'function_call', call_id: callId, ...named, arguments: '', status: 'in_progress' } as const;
  const item: FunctionCallItem = { ...begun, arguments: args, status: 'completed' };
  return wholeItem(index, item, {
    shown: begun,
    events: (place) => [
      { type: 'response.function_call_arguments.delta', ...place, delta: args },
      { type: 'response.function_call_arguments.done', ...place, name, arguments: args },
    ],
  });
}

/** A call that the client is to approve: OpenAI has no events of its own for it. */
function approvalRequest(
  { name, arguments: args }: FunctionCall,
  { run, index }: { run: RunId; index: number },
): ToldItem<McpApprovalRequest> {
  const id = itemId('mcpr', run, { output: index });
  const item: McpApprovalRequest = { id, type: 'mcp_approval_request', ...serverNames(name), arguments: args };
  return wholeItem(index, item);
}

/** A search for more tools that the client is to make. */
function searchCall(
  { callId: call_id, arguments: args }: FunctionCall,
  { run, index }: { run: RunId; index: number },
): ToldItem<ClientSearchCall> {
  const id = itemId('tsc', run, { output: index });
  const call = {
    id,
    type: 'tool_search_call',
    call_id,
    execution: 'client',
    // What is too deep to be written as JSON again stays the text that it is.
    arguments: parseReadable(args) ?? args,
  } as const;
  return wholeItem<ClientSearchCall>(
    index,
    { ...call, status: 'completed' },
    { shown: { ...call, status: 'in_progress' } },
  );
}

/** A call of a tool of the client's own that takes a text: told whole. */
function customCall(
  { callId, name, namespace, arguments: input }: FunctionCall,
  { run, index }: { run: RunId; index: number },
): ToldItem<CustomToolCallItem> {
  const id = itemId('ctc', run, { output: index });
  const named = { name, ...(namespace !== undefined && { namespace }) };
  const begun = { id, type: 'custom_tool_call', call_id: callId, ...named, input: '', status: 'in_progress' } as const;
  const item: CustomToolCallItem = { ...begun, input, status: 'completed' };
  return wholeItem(index, item, {
    shown: begun,
    events: (place) => [
      { type: 'response.custom_tool_call_input.delta', ...place, delta: input },
      { type: 'response.custom_tool_call_input.done', ...place, input },
    ],
  });
}

/** A call of a shell or of an editor of files. OpenAI has events of its own for the commands alone. */
function shellCall(
  call: FunctionCall & { as: ShellTool },
  { run, index }: { run: RunId; index: number },
): ToldItem<ShellItem> {
  const { begun, item } = shellItem(call, { run, index });
  const commands = item.type === 'shell_call' ? item.action.commands : [];
  const events = commands.flatMap((command, n): UnnumberedEvent[] => {
    const place = { output_index: index, command_index: n };
    return [
      { type: 'response.shell_call_command.added', ...place, command: '' },
      { type: 'response.shell_call_command.delta', ...place, delta: command },
      { type: 'response.shell_call_command.done', ...place, command },
    ];
  });
  return wholeItem(index, item, { shown: begun, events: () => events });
}

function shellItem(
  { callId: call_id, arguments: args, as }: FunctionCall & { as: ShellTool },
  { run, index }: { run: RunId; index: number },
): { begun: ShellItem; item: ShellItem } {
  const id = (prefix: 'lsh' | 'sh' | 'apc') => itemId(prefix, run, { output: index });
  const given = objectIn(args);
  const begun = { call_id, status: 'in_progress' } as const;
  const done = { call_id, status: 'completed' } as const;
  switch (as) {
    case 'local_shell': {
      const item = { id: id('lsh'), type: 'local_shell_call', action: execAction.parse(given) } as const;
      return { begun: { ...item, ...begun }, item: { ...item, ...done } };
    }
    case 'shell': {
      const action = shellAction.parse(given);
      const item = { id: id('sh'), type: 'shell_call', action, environment: { type: 'local' } } as const;
      return { begun: { ...item, ...begun, action: { ...action, commands: [] } }, item: { ...item, ...done } };
    }
    case 'apply_patch': {
      const item = { id: id('apc'), type: 'apply_patch_call', operation: patchOperation.parse(given) } as const;
      return { begun: { ...item, ...begun }, item: { ...item, ...done } };
    }
  }
}
