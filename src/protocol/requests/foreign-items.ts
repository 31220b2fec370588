import { z } from 'zod';
import { isObject } from '../../base/json.ts';
import { contentParts, type InputPart } from './content-parts.ts';
import { chooseSchema, optional } from './parse.ts';
import type { ResponseTool } from './request-tools.ts';
import { inputTools } from './thread-settings.ts';

/**
 * What a thread that began elsewhere may hold (docs/api.md, "POST /v1/responses"): calls of tools that ran at a client
 * or at another service, and their outputs. They become context, as text; those that say nothing are dropped.
 */

/** A call of an earlier turn. `output`: what came of it, if the item says so itself. */
export interface PriorCall {
  type: 'prior_call';
  callId?: string | undefined;
  name: string;
  arguments: string;
  output?: string | undefined;
  /** The id of its item, by which its output may name it, too. */
  itemId?: string | undefined;
  /** It waits for an approval, by its `callId`. */
  asks?: true;
  /** The request that it was approved by. */
  approvedBy?: string | undefined;
}

/** What came of a call that stands elsewhere in the thread. */
export interface PriorOutput {
  type: 'prior_output';
  callId: string | undefined;
  /** The id of the item of its call, or its `callId`, where it names nothing else. */
  itemId?: string | undefined;
  output: string;
  /** Of an approval: whether the call is to be made. */
  approves?: boolean;
  /** What it is made of, where that is not text alone: `output` names the rest. */
  parts?: InputPart[] | undefined;
  /** Of a search by the client: what it found. */
  tools?: ResponseTool[] | undefined;
  /** Images among them that a research model is shown, by their addresses: `output` says that they are there. */
  images?: string[] | undefined;
}

/** An item that says nothing to a model. */
export interface DroppedItem {
  type: 'dropped';
}

const NOTHING: DroppedItem = { type: 'dropped' };
const id = optional(z.string());
const callId = z.string().min(1);
const anything = z.unknown().optional();
/** Text, parts of text, or whatever else a tool gave. */
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
  { output: told, ...more }: Omit<Partial<PriorCall>, 'type' | 'name' | 'arguments'> = {},
): PriorCall {
  return { type: 'prior_call', name, arguments: textOf(args), output: told || undefined, ...more };
}

function priorOutput(callId: string | undefined, text: string): PriorOutput | DroppedItem {
  return text === '' && callId === undefined ? NOTHING : { type: 'prior_output', output: text, callId };
}

/** Lists of tools say nothing about the thread, and pictures are no text. */
const silent = z.looseObject({}).transform(() => NOTHING);

const textOutput = z.object({ call_id: id, output }).transform((item) => priorOutput(item.call_id, item.output));
/** What a function gave, with images or files among it. */
const outputParts = z
  .object({ call_id: z.string().min(1), output: contentParts })
  .transform(({ call_id: callId, output: parts }) => outputOf(callId, parts));
function outputOf(callId: string | undefined, parts: InputPart[]): PriorOutput {
  const texts = parts.map((part) => (part.type === 'text' ? part.text : `(${NAMES[part.type]}, which is not shown)`));
  return { type: 'prior_output', callId, output: texts.join('\n'), parts };
}
const NAMES = { image: 'an image', image_file: 'an image', file: 'a file', audio: 'audio' } as const;
const functionOutput = chooseSchema((value) => (isObject(value) && isMixed(value.output) ? outputParts : textOutput));

/** Whether parts are not text alone, in the words of Responses or of chats. */
function isMixed(parts: unknown): boolean {
  return Array.isArray(parts) && parts.some((part) => isObject(part) && MIXED.includes(String(part.type)));
}
const MIXED = ['input_image', 'input_file', 'input_audio', 'image_url', 'file'];

/** Searches of the client's: those that others made say nothing. */
const isOurs = (value: unknown) => isObject(value) && typeof value.call_id === 'string' && value.execution !== 'server';
const searchCall = z
  .object({ call_id: callId, arguments: output })
  .transform((item) => call('tool_search', item.arguments, { callId: item.call_id }));
const searchOutput = z
  .object({ call_id: callId, tools: inputTools })
  .transform(({ call_id, tools: given }): PriorOutput => {
    const tools = given.map(found);
    const names = tools.map((tool) => ('name' in tool ? tool.name : tool.type));
    const told = names.length === 0 ? 'No tools were found.' : `Found, and on offer from now on: ${names.join(', ')}`;
    return { type: 'prior_output', callId: call_id, output: told, tools };
  });
/** What was found waits for nothing. */
function found(tool: ResponseTool): ResponseTool {
  if (tool.type === 'function') return { ...tool, defer_loading: undefined };
  if (tool.type !== 'namespace') return tool;
  const tools = tool.tools.map((one) => (one.type === 'function' ? { ...one, defer_loading: undefined } : one));
  return { ...tool, tools };
}
const searching = chooseSchema((value) => (isOurs(value) ? searchCall : silent));
const searched = chooseSchema((value) => (isOurs(value) ? searchOutput : silent));

/** A function that was found first and stands in no namespace has its own name as one. */
function fullName({ name, namespace }: { name: string; namespace?: string | undefined }): string {
  return namespace === undefined || namespace === name ? name : `${namespace}.${name}`;
}

/** By the type of the item. */
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
    const itemId = item.call_id === undefined ? item.id : undefined;
    return { type: 'prior_output', callId: item.call_id, itemId, output: item.output };
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
    .transform(({ call_id, status, output: told }) =>
      priorOutput(call_id, told === '' ? status : `${status}: ${told}`),
    ),
  web_search_call: z
    .object({ action: anything })
    .transform(({ action }) => (isObject(action) ? call('web_search', action) : NOTHING)),
  file_search_call: z.object({ queries: anything, results: output }).transform(({ queries, results }) => {
    const isAsked = Array.isArray(queries) && queries.length > 0;
    return isAsked || results !== '' ? call('file_search', { queries }, { output: results }) : NOTHING;
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
      const why = reason ? ` Reason: ${reason}` : '';
      return {
        type: 'prior_output',
        callId,
        output: `The user ${approves ? 'approved' : 'denied'} this call.${why}`,
        approves,
      };
    }),
  mcp_list_tools: silent,
  tool_search_call: searching,
  tool_search_output: searched,
  image_generation_call: silent,
  // What ran at OpenAI, and went on there: told in words, because no model here can go on with it.
  computer_call: z
    .object({ action: anything, actions: anything })
    .transform(({ action, actions }) => (action || actions ? call('computer', action ?? actions) : NOTHING)),
  computer_call_output: z.object({}).transform(() => priorOutput(undefined, '(a screenshot, which is not shown)')),
  program: z.object({ code: z.string() }).transform(({ code }) => call('program', code)),
  program_output: z.object({ result: output }).transform(({ result }) => priorOutput(undefined, result)),
} as const;

/** `tool_calls` of an assistant message in a chat history. */
export const toolCalls = z
  .array(z.object({ id, function: z.object({ name: z.string(), arguments: output }) }))
  .max(1000)
  .transform((calls) => calls.map(({ id: callId, function: made }) => call(made.name, made.arguments, { callId })));

/** `function_call` of an older one, which names nothing but its function: so does the message that answers it. */
export const legacyFunctionCall = z
  .object({ name: z.string().min(1), arguments: output })
  .transform(({ name, arguments: args }) => call(name, args, { callId: name }));

const answering = { role: z.enum(['tool', 'function']), tool_call_id: id, name: id };
const toolText = z
  .object({ ...answering, content: output })
  .transform((message) => priorOutput(message.tool_call_id ?? message.name, message.content));
const toolParts = z
  .object({ ...answering, content: contentParts })
  .transform((message) => outputOf(message.tool_call_id ?? message.name, message.content));
/** A `tool` message of a chat history, or a `function` message of an older one. */
export const toolMessage = chooseSchema((value) => (isObject(value) && isMixed(value.content) ? toolParts : toolText));

/** For the API description, by component name. */
export const foreignComponents = {
  PriorItem: z
    .looseObject({ type: z.enum(Object.keys(foreignItems)) })
    .describe('A call of a tool that ran elsewhere, or its output: becomes context, or is dropped.'),
};
