import { z } from 'zod';
import type { ItemPrefix } from '../../base/ids.ts';
import { isObject, type JsonObject, type JsonValue, scalarText } from '../../base/json.ts';
import { IMAGE_FORMATS } from '../made-images.ts';

/** OpenAI's items for tool calls, for `profile: openai` (docs/api.md, "The profile of OpenAI") and for plain models. */

/** The fields with which every item begins. */
export function itemHead<T extends string>(prefix: ItemPrefix, type: T) {
  return { id: z.string().startsWith(`${prefix}_`), type: z.literal(type) };
}

const status = z.enum(['in_progress', 'completed', 'failed']);
/** The research lane to which the item belongs, counted from 1; absent without lanes. */
export const lane = z.int().positive().optional();
const urlSource = z.object({ type: z.literal('url'), url: z.string() });

export const webSearchCall = z.object({
  ...itemHead('ws', 'web_search_call'),
  lane,
  status,
  action: z.discriminatedUnion('type', [
    z.object({
      type: z.literal('search'),
      query: z.string(),
      queries: z.array(z.string()),
      /** The results. */
      sources: z.array(urlSource),
    }),
    z.object({ type: z.literal('open_page'), url: z.string() }),
  ]),
});

export const codeInterpreterCall = z.object({
  ...itemHead('ci', 'code_interpreter_call'),
  lane,
  status,
  code: z.string(),
  container_id: z.string(),
  outputs: z.array(z.object({ type: z.literal('logs'), logs: z.string() })),
});

/** A search in vector stores. */
export const fileSearchCall = z.object({
  ...itemHead('fs', 'file_search_call'),
  lane,
  status,
  queries: z.array(z.string()),
  /** Null until the search is done. */
  results: z
    .array(
      z.object({
        file_id: z.string(),
        filename: z.string(),
        score: z.number(),
        text: z.string(),
        /** Attributes of the file; absent in older logs. */
        attributes: z.record(z.string(), z.union([z.string(), z.number(), z.boolean()])).optional(),
        page: z.int().optional(),
        section: z.string().optional(),
      }),
    )
    .nullable(),
});

/** An image that the model made. */
export const imageGenerationCall = z.object({
  ...itemHead('ig', 'image_generation_call'),
  status,
  /** In base64; null until the item is done. */
  result: z.string().nullable(),
  output_format: z.enum(IMAGE_FORMATS).optional(),
});

/** Why a call of an MCP server failed; a string in older logs. */
const mcpError = z.union([
  z.string(),
  z.object({
    type: z.literal('mcp_tool_execution_error'),
    content: z.array(z.object({ type: z.literal('text'), text: z.string() })),
  }),
]);

export const mcpCall = z.object({
  ...itemHead('mcp', 'mcp_call'),
  lane,
  status,
  server_label: z.string(),
  name: z.string(),
  /** JSON text. */
  arguments: z.string(),
  output: z.string().nullable(),
  error: mcpError.nullable(),
  /** The approval request that the client approved, if there was one. */
  approval_request_id: z.string().nullable(),
});

/** A call that waits for the client's approval. */
export const mcpApprovalRequest = z.object({
  ...itemHead('mcpr', 'mcp_approval_request'),
  server_label: z.string(),
  name: z.string(),
  /** JSON text. */
  arguments: z.string(),
});

export const mcpListTools = z.object({
  ...itemHead('mcpl', 'mcp_list_tools'),
  server_label: z.string(),
  tools: z.array(
    z.object({
      name: z.string(),
      description: z.string(),
      input_schema: z.custom<JsonObject>(isObject).meta({ type: 'object', additionalProperties: true }),
      /** Null in older logs only, because some clients reject null here. */
      annotations: z.null().optional(),
    }),
  ),
  /** Absent on success; null in older logs only, because some clients reject null here. */
  error: z.string().nullable().optional(),
});

export const openAiItems = [
  webSearchCall,
  fileSearchCall,
  codeInterpreterCall,
  imageGenerationCall,
  mcpCall,
  mcpApprovalRequest,
  mcpListTools,
] as const;

const place = {
  sequence_number: z.int().positive(),
  output_index: z.int().nonnegative(),
  item_id: z.string(),
};
const STAGES = [
  'response.web_search_call.in_progress',
  'response.web_search_call.searching',
  'response.web_search_call.completed',
  'response.file_search_call.in_progress',
  'response.file_search_call.searching',
  'response.file_search_call.completed',
  'response.code_interpreter_call.in_progress',
  'response.code_interpreter_call.interpreting',
  'response.code_interpreter_call.completed',
  'response.image_generation_call.in_progress',
  'response.image_generation_call.generating',
  'response.image_generation_call.completed',
  'response.mcp_call.in_progress',
  'response.mcp_call.completed',
  'response.mcp_call.failed',
  'response.mcp_list_tools.in_progress',
  'response.mcp_list_tools.completed',
  'response.mcp_list_tools.failed',
] as const;

/** The events of these items, besides those of every item. */
export const openAiEvents = [
  ...STAGES.map((type) => z.object({ type: z.literal(type), ...place })),
  z.object({ type: z.literal('response.code_interpreter_call_code.delta'), ...place, delta: z.string() }),
  z.object({ type: z.literal('response.code_interpreter_call_code.done'), ...place, code: z.string() }),
  z.object({ type: z.literal('response.mcp_call_arguments.delta'), ...place, delta: z.string() }),
  z.object({ type: z.literal('response.mcp_call_arguments.done'), ...place, arguments: z.string() }),
];

export type WebSearchCall = z.output<typeof webSearchCall>;
export type FileSearchCall = z.output<typeof fileSearchCall>;
export type CodeInterpreterCall = z.output<typeof codeInterpreterCall>;
export type ImageGenerationCall = z.output<typeof imageGenerationCall>;
export type McpCall = z.output<typeof mcpCall>;
export type McpApprovalRequest = z.output<typeof mcpApprovalRequest>;
export type McpListTools = z.output<typeof mcpListTools>;
export type OpenAiCall = WebSearchCall | FileSearchCall | CodeInterpreterCall | McpCall;

/** Calls of a shell and of a file editor, which run at the client (docs/api.md, "Responses of plain models"). */

/** The status of a call that the client executes. */
const callStatus = z.enum(['in_progress', 'completed', 'incomplete']);
const positive = z.int().positive();

/** One program with its arguments. Unset fields are absent, because clients reject null. */
export const execAction = z.object({
  type: z.literal('exec').default('exec'),
  command: z.array(z.string()),
  env: z.record(z.string(), z.string()).default({}),
  timeout_ms: positive.optional(),
  user: z.string().optional(),
  working_directory: z.string().optional(),
});

export const shellAction = z.object({
  commands: z.array(z.string()),
  timeout_ms: positive.nullable().default(null),
  /** In characters. */
  max_output_length: positive.nullable().default(null),
});

/** A change to one file; `diff` is in the V4A format. */
export const patchOperation = z.discriminatedUnion('type', [
  z.object({ type: z.literal('create_file'), path: z.string().min(1), diff: z.string() }),
  z.object({ type: z.literal('update_file'), path: z.string().min(1), diff: z.string() }),
  z.object({ type: z.literal('delete_file'), path: z.string().min(1) }),
]);

export const localShellCallItem = z.object({
  ...itemHead('lsh', 'local_shell_call'),
  call_id: z.string(),
  action: execAction,
  status: callStatus,
});

export const shellCallItem = z.object({
  ...itemHead('sh', 'shell_call'),
  call_id: z.string(),
  action: shellAction,
  environment: z.object({ type: z.literal('local') }),
  status: callStatus,
});

export const applyPatchCallItem = z.object({
  ...itemHead('apc', 'apply_patch_call'),
  call_id: z.string(),
  operation: patchOperation,
  status: callStatus,
});

export const shellItems = [localShellCallItem, shellCallItem, applyPatchCallItem] as const;

/**
 * A search for a deferred function (`defer_loading`) and its result. The gateway offers such functions at once, so these
 * items only say which one was called.
 */
const ofSearch = { call_id: z.null(), execution: z.literal('server'), status: callStatus };
const toolSearchCall = z.object({
  ...itemHead('tsc', 'tool_search_call'),
  arguments: z.object({ paths: z.array(z.string()) }),
  ...ofSearch,
});
const toolSearchOutput = z.object({
  ...itemHead('tso', 'tool_search_output'),
  tools: z.array(z.custom<JsonObject>(isObject).meta({ type: 'object' })),
  ...ofSearch,
});
/** A tool search that the client executes and answers with the tools that it found. */
const clientSearchCall = toolSearchCall.extend({
  call_id: z.string(),
  execution: z.literal('client'),
  /** As the tool's schema defines them; a string if the model did not write JSON. */
  arguments: z.custom<JsonValue>().meta({ type: 'object', additionalProperties: true }),
});
export const toolSearchItems = [
  z.discriminatedUnion('execution', [toolSearchCall, clientSearchCall]),
  toolSearchOutput,
] as const;
export type ClientSearchCall = z.output<typeof clientSearchCall>;
export type ToolSearchItem = z.output<(typeof toolSearchItems)[number]>;

const ofCommand = {
  sequence_number: z.int().positive(),
  output_index: z.int().nonnegative(),
  command_index: z.int().nonnegative(),
};

/** The events of shell calls, besides those of every item. */
export const shellEvents = [
  z.object({ type: z.literal('response.shell_call_command.added'), ...ofCommand, command: z.string() }),
  z.object({ type: z.literal('response.shell_call_command.delta'), ...ofCommand, delta: z.string() }),
  z.object({ type: z.literal('response.shell_call_command.done'), ...ofCommand, command: z.string() }),
];

export type ShellItem = z.output<(typeof shellItems)[number]>;

/** Types of items for which OpenAI's lists include a status, though requests may omit it. */
const WITH_STATUS = /^message$|_call$|_output$/;
/** Types of text parts, which requests may use for either role. */
const TEXT_PART = /^(?:input_|output_)?text$/;

/**
 * Completes an input item to the form that OpenAI's lists return: adds the fields that a request may omit, and expands a
 * string to a text part.
 */
export function completeInputItem(item: JsonObject): JsonObject {
  const { type = 'message', content, status } = item;
  const isAssistant = item.role === 'assistant';
  const parts = typeof content === 'string' ? [{ type: 'text', text: content }] : content;
  return {
    ...omittedFields(type, item),
    ...item,
    type,
    ...(type === 'shell_call' &&
      isObject(item.action) && { action: { timeout_ms: null, max_output_length: null, ...item.action } }),
    ...(type === 'message' &&
      Array.isArray(parts) && { content: parts.map((part) => completePart(part, isAssistant)) }),
    ...(status == null && WITH_STATUS.test(scalarText(type)) && { status: 'completed' }),
  };
}

/** Fields that OpenAI's lists always have and requests may omit. */
function omittedFields(type: JsonValue, { call_id }: JsonObject): JsonObject {
  if (type === 'shell_call') return { environment: null };
  if (type === 'shell_call_output') return { max_output_length: null };
  if (type !== 'tool_search_call' && type !== 'tool_search_output') return {};
  return { call_id: null, execution: typeof call_id === 'string' ? 'client' : 'server' };
}

function completePart(part: JsonValue, isAssistant: boolean): JsonValue {
  if (!isObject(part)) return part;
  if (part.type === 'input_image') return { detail: 'auto', ...part };
  if (!TEXT_PART.test(scalarText(part.type))) return part;
  return isAssistant
    ? { annotations: [], logprobs: [], ...part, type: 'output_text' }
    : { ...part, type: 'input_text' };
}
