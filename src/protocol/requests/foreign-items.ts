import { z } from 'zod';
import { isObject, scalarText } from '../../base/json.ts';
import { contentParts, type InputPart } from './content-parts.ts';
import { optional, pickSchema } from './parse.ts';
import type { ResponseTool } from './request-tools.ts';
import { inputTools } from './thread-settings.ts';

/**
 * Items of threads that began elsewhere (docs/api.md, "POST /v1/responses"): calls of tools that ran at a client or at
 * another service, and their outputs. They become context as text; items without content are dropped.
 */

/** A tool call of an earlier turn. `output`: its result, if the item includes it. */
export interface PriorCall {
  type: 'prior_call';
  callId?: string | undefined;
  name: string;
  arguments: string;
  output?: string | undefined;
  /** The id of the item, which its output may name instead of `callId`. */
  itemId?: string | undefined;
  /** Whether the call waits for an approval, which names its `callId`. */
  asks?: true;
  /** The approval request that approved the call. */
  approvedBy?: string | undefined;
}

/** The output of a call that is elsewhere in the thread. */
export interface PriorOutput {
  type: 'prior_output';
  callId: string | undefined;
  /** The item id, or else the `callId`, of the call, if the output has no `callId`. */
  itemId?: string | undefined;
  output: string;
  /** For an approval: whether the call may be made. */
  approves?: boolean;
  /** All parts, if they are not only text; `output` mentions the others. */
  parts?: InputPart[] | undefined;
  /** For a search by the client: the tools that it found. */
  tools?: ResponseTool[] | undefined;
  /** URLs of images among the parts, for research models; `output` mentions them. */
  images?: string[] | undefined;
}

/** An item that carries nothing for a model. */
export interface DroppedItem {
  type: 'dropped';
}

const NOTHING: DroppedItem = { type: 'dropped' };
const id = optional(z.string());
const callId = z.string().min(1);
const anything = z.unknown().optional();
/** The output of a tool: text, text parts, or any other value. */
const output = anything.transform(textOf);

function textOf(value: unknown): string {
  if (typeof value === 'string') return value;
  if (value === undefined || value === null) return '';
  const parts = Array.isArray(value) ? value.map((part) => (isObject(part) ? part.text : undefined)) : [];
  return parts.length > 0 && parts.every((text) => typeof text === 'string') ? parts.join('\n') : JSON.stringify(value);
}

function call(
  name: string,
  args: unknown,
  { output, ...options }: Omit<Partial<PriorCall>, 'type' | 'name' | 'arguments'> = {},
): PriorCall {
  return { type: 'prior_call', name, arguments: textOf(args), output: output || undefined, ...options };
}

function priorOutput(callId: string | undefined, text: string): PriorOutput | DroppedItem {
  return text === '' && callId === undefined ? NOTHING : { type: 'prior_output', output: text, callId };
}

/** Items that cannot become context: lists of tools say nothing about the thread. */
const droppedItem = z.looseObject({}).transform(() => NOTHING);

const textOutput = z.object({ call_id: id, output }).transform((item) => priorOutput(item.call_id, item.output));
/** The output of a function with images or files. */
const outputParts = z
  .object({ call_id: z.string().min(1), output: contentParts })
  .transform(({ call_id: callId, output: parts }) => outputWithParts(callId, parts));
function outputWithParts(callId: string | undefined, parts: InputPart[]): PriorOutput {
  const texts = parts.map((part) => (part.type === 'text' ? part.text : `(${NAMES[part.type]}, which is not shown)`));
  return { type: 'prior_output', callId, output: texts.join('\n'), parts };
}
const NAMES = { image: 'an image', image_file: 'an image', file: 'a file', audio: 'audio' } as const;
const functionOutput = pickSchema((value) => (isObject(value) && hasMedia(value.output) ? outputParts : textOutput));

/** Whether an output has parts other than text, in the types of Responses or of chat completions. */
function hasMedia(parts: unknown): boolean {
  return Array.isArray(parts) && parts.some((part) => isObject(part) && MEDIA_TYPES.includes(scalarText(part.type)));
}
const MEDIA_TYPES = ['input_image', 'input_file', 'input_audio', 'image_url', 'file'];

/** Whether a tool search was made by the client. Those of other services are dropped. */
const isClientSearch = (value: unknown) =>
  isObject(value) && typeof value.call_id === 'string' && value.execution !== 'server';
const searchCall = z
  .object({ call_id: callId, arguments: output })
  .transform((item) => call('tool_search', item.arguments, { callId: item.call_id }));
const searchOutput = z
  .object({ call_id: callId, tools: inputTools })
  .transform(({ call_id, tools: foundTools }): PriorOutput => {
    const tools = foundTools.map(withoutDeferral);
    const names = tools.map((tool) => ('name' in tool ? tool.name : tool.type));
    const output = names.length === 0 ? 'No tools were found.' : `Found, and on offer from now on: ${names.join(', ')}`;
    return { type: 'prior_output', callId: call_id, output, tools };
  });
/** Clears `defer_loading`: a tool that was found is loaded. */
function withoutDeferral(tool: ResponseTool): ResponseTool {
  if (tool.type === 'function') return { ...tool, defer_loading: undefined };
  if (tool.type !== 'namespace') return tool;
  const tools = tool.tools.map((inner) => (inner.type === 'function' ? { ...inner, defer_loading: undefined } : inner));
  return { ...tool, tools };
}
const toolSearchCall = pickSchema((value) => (isClientSearch(value) ? searchCall : droppedItem));
const toolSearchOutput = pickSchema((value) => (isClientSearch(value) ? searchOutput : droppedItem));

/** Clients send a found function without a namespace with its own name as the namespace. */
function fullName({ name, namespace }: { name: string; namespace?: string | undefined }): string {
  return namespace === undefined || namespace === name ? name : `${namespace}.${name}`;
}

/** The schemas by type of item. */
export const foreignItems = {
  function_call: z
    .object({ call_id: id, name: z.string(), namespace: id, arguments: output })
    .transform(({ call_id, arguments: args, ...named }) => call(fullName(named), args, { callId: call_id })),
  function_call_output: functionOutput,
  custom_tool_call: z
    .object({ call_id: id, name: z.string(), namespace: id, input: output })
    .transform(({ call_id, input, ...named }) => call(fullName(named), { input }, { callId: call_id })),
  custom_tool_call_output: functionOutput,
  local_shell_call: z
    .object({ id, call_id: callId, action: z.looseObject({}) })
    .transform((item) => call('local_shell', item.action, { callId: item.call_id, itemId: item.id })),
  local_shell_call_output: z.object({ id, call_id: id, output }).transform((item): PriorOutput => {
    return { type: 'prior_output', callId: item.call_id, itemId: item.call_id ?? item.id, output: item.output };
  }),
  shell_call: z
    .object({ call_id: callId, action: z.looseObject({}) })
    .transform((item) => call('shell', item.action, { callId: item.call_id })),
  shell_call_output: z.object({ call_id: callId, output }).transform((item) => priorOutput(item.call_id, item.output)),
  apply_patch_call: z
    .object({ call_id: callId, operation: z.looseObject({}) })
    .transform((item) => call('apply_patch', item.operation, { callId: item.call_id })),
  apply_patch_call_output: z
    .object({ call_id: callId, status: z.enum(['completed', 'failed']), output })
    .transform(({ call_id, status, output: text }) => priorOutput(call_id, text ? `${status}: ${text}` : status)),
  web_search_call: z
    .object({ action: anything })
    .transform(({ action }) => (isObject(action) ? call('web_search', action) : NOTHING)),
  file_search_call: z.object({ queries: anything, results: output }).transform(({ queries, results }) => {
    const hasQueries = Array.isArray(queries) && queries.length > 0;
    return hasQueries || results !== '' ? call('file_search', { queries }, { output: results }) : NOTHING;
  }),
  code_interpreter_call: z.object({ code: id, outputs: anything }).transform(({ code, outputs }) => {
    if (!code) return NOTHING;
    const logs = (Array.isArray(outputs) ? outputs : []).map((part) => (isObject(part) ? part.logs : undefined));
    return call('code_interpreter', code, {
      output: logs.filter((text) => text && typeof text === 'string').join('\n'),
    });
  }),
  mcp_call: z
    .object({
      server_label: id,
      name: z.string(),
      arguments: output,
      output,
      error: anything.transform((error) => textOf(isObject(error) ? (error.content ?? error.message ?? error) : error)),
      approval_request_id: id,
    })
    .transform((item) => {
      const name = item.server_label === undefined ? item.name : `${item.server_label}.${item.name}`;
      return call(name, item.arguments, { output: item.output || item.error, approvedBy: item.approval_request_id });
    }),
  mcp_approval_request: z
    .object({ id: z.string().min(1), server_label: z.string(), name: z.string(), arguments: output })
    .transform((item) => call(`${item.server_label}.${item.name}`, item.arguments, { callId: item.id, asks: true })),
  mcp_approval_response: z
    .object({ approval_request_id: z.string().min(1), approve: z.boolean(), reason: id })
    .transform(({ approval_request_id: callId, approve: approves, reason }): PriorOutput => {
      const suffix = reason ? ` Reason: ${reason}` : '';
      const output = `The user ${approves ? 'approved' : 'denied'} this call.${suffix}`;
      return { type: 'prior_output', callId, output, approves };
    }),
  mcp_list_tools: droppedItem,
  tool_search_call: toolSearchCall,
  tool_search_output: toolSearchOutput,
  // Sessions that ran at OpenAI become plain text, because no model here can continue them.
  computer_call: z
    .object({ action: anything, actions: anything })
    .transform(({ action, actions }) => (action || actions ? call('computer', action ?? actions) : NOTHING)),
  computer_call_output: z.object({}).transform(() => priorOutput(undefined, '(a screenshot, which is not shown)')),
  program: z.object({ code: z.string() }).transform(({ code }) => call('program', code)),
  program_output: z.object({ result: output }).transform(({ result }) => priorOutput(undefined, result)),
} as const;

const functionCall = z
  .object({ id, function: z.object({ name: z.string(), arguments: output }) })
  .transform(({ id: callId, function: called }) => call(called.name, called.arguments, { callId }));
const customCall = z
  .object({ id, custom: z.object({ name: z.string(), input: output }) })
  .transform(({ id: callId, custom: { name, input } }) => call(name, { input }, { callId }));
/** `tool_calls` of an assistant message in a chat history. */
export const toolCalls = z
  .array(pickSchema((value) => (isObject(value) && value.type === 'custom' ? customCall : functionCall)))
  .max(1000);

/** The deprecated `function_call` of a chat history. It has no id: the message that answers it names the function. */
export const legacyFunctionCall = z
  .object({ name: z.string().min(1), arguments: output })
  .transform(({ name, arguments: args }) => call(name, args, { callId: name }));

const answerFields = { role: z.enum(['tool', 'function']), tool_call_id: id, name: id };
const toolText = z
  .object({ ...answerFields, content: output })
  .transform((message) => priorOutput(message.tool_call_id ?? message.name, message.content));
const toolParts = z
  .object({ ...answerFields, content: contentParts })
  .transform((message) => outputWithParts(message.tool_call_id ?? message.name, message.content));
/** A `tool` message of a chat history, or the deprecated `function` message. */
export const toolMessage = pickSchema((value) => (isObject(value) && hasMedia(value.content) ? toolParts : toolText));

/** For the API description, by component name. */
export const foreignComponents = {
  PriorItem: z
    .looseObject({ type: z.enum(Object.keys(foreignItems)) })
    .describe('A call of a tool that ran elsewhere, or its output: becomes context, or is dropped.'),
};
