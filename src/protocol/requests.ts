import { z } from 'zod';
import { isObject, type JsonObject } from '../base/json.ts';
import { chosenBy, type Described, optional, unsupported } from './parse.ts';

/** A schema of `openapi-inputs.ts`, for the API description. */
function reference(name: string): Described {
  return { $ref: `#/components/schemas/${name}` };
}

/** Fields that several request bodies share. */

export const modelName = z.string().min(1, 'must not be empty');

/** Free-form metadata, at most 16 KiB as JSON (contract section 3). */
export const metadata = z
  .custom<JsonObject>(isObject, 'expected an object')
  .refine((value) => Buffer.byteLength(JSON.stringify(value)) <= 16_384, 'must be at most 16 KiB as JSON')
  .meta({ type: 'object', additionalProperties: true, description: 'Free-form, at most 16 KiB as JSON.' });

export const temperature = z.number().min(0).max(2);
export const topP = z.number().min(0).max(1);

const headerMap = z.record(z.string(), z.string());
const httpUrl = z.url({ protocol: /^https?$/, error: 'must be an http or https URL' });

/** A per-request MCP server, `mcp_servers[]`. Its credentials never leave the gateway except to that server. */
export const mcpServer = z.object({
  name: z.string().regex(/^[A-Za-z0-9_-]{1,64}$/, 'must be 1 to 64 letters, digits, _ or -'),
  url: httpUrl,
  headers: optional(headerMap),
  access_token: optional(z.string()),
  allowed_tools: optional(z.array(z.string())),
  oauth: optional(
    z.object({
      client_id: z.string().min(1),
      client_secret: z.string().min(1),
      token_url: optional(httpUrl),
      issuer: optional(httpUrl),
      scope: optional(z.string()),
    }),
  ),
});
export type RequestMcpServer = z.output<typeof mcpServer>;
export const mcpServers = z.array(mcpServer).max(32);

const TOOLS_RUN_HERE =
  'function tools cannot be used: tools run on the server. Leave tools out, or name server-side ones.';

const mcpTool = z.object({
  type: z.literal('mcp'),
  server_label: mcpServer.shape.name,
  server_url: httpUrl,
  headers: optional(headerMap),
  authorization: optional(z.string()),
  require_approval: chosenBy((value) =>
    value === undefined || value === null || value === 'never'
      ? z.unknown()
      : { refuse: 'unsupported_parameter', message: 'nobody is asked for approval here: use "never"' },
  ),
  allowed_tools: optional(
    z.union(
      [z.array(z.string()), z.object({ tool_names: z.array(z.string()).optional() })],
      'expected an array of names',
    ),
  ),
});
const webSearchTool = z.object({
  type: z.string().transform(() => 'web_search' as const),
  filters: optional(z.object({ allowed_domains: optional(z.array(z.string()).max(100)) })),
});
const codeInterpreterTool = z.object({ type: z.literal('code_interpreter') });

/** A server-side tool of a Responses request. Dated variants of the web search tool mean the same. */
export const responseTool = chosenBy((value) => {
  if (!isObject(value)) return { refuse: 'invalid_parameter', message: 'expected an object' };
  const { type } = value;
  if (typeof type !== 'string')
    return {
      refuse: type == null ? 'missing_parameter' : 'invalid_parameter',
      message: 'expected a tool type',
      at: 'type',
    };
  if (type === 'mcp') return mcpTool;
  if (/^web_search(_preview)?(_\d{4}_\d{2}_\d{2})?$/.test(type)) return webSearchTool;
  if (type === 'code_interpreter') return codeInterpreterTool;
  if (type === 'function' || type === 'custom') return { refuse: 'unsupported_parameter', message: TOOLS_RUN_HERE };
  return {
    refuse: 'invalid_parameter',
    message: 'unknown tool type: use mcp, web_search or code_interpreter',
    at: 'type',
  };
}, reference('Tool'));
export type ResponseTool = z.output<typeof responseTool>;

/** `tool_choice`: only `auto` and `none` can be honoured. */
export const toolChoice = chosenBy(
  (value) =>
    value === 'auto' || value === 'none'
      ? z.enum(['auto', 'none'])
      : { refuse: 'unsupported_parameter', message: 'only "auto" and "none" are supported: tools run on the server' },
  { type: 'string', enum: ['auto', 'none'], default: 'auto' },
);

const jsonSchemaBody = {
  name: optional(z.string().min(1).max(64)),
  schema: z.custom<JsonObject>(isObject, 'expected a JSON Schema object').meta({ type: 'object' }),
  strict: optional(z.boolean()),
  description: optional(z.string()),
};

/** `text.format` of Responses. */
export const textFormat = chosenBy((value) => {
  if (!isObject(value)) return { refuse: 'invalid_parameter', message: 'expected an object' };
  if (value.type === 'text') return z.object({ type: z.literal('text') });
  if (value.type === 'json_object') return z.object({ type: z.literal('json_object') });
  if (value.type === 'json_schema') return z.object({ type: z.literal('json_schema'), ...jsonSchemaBody });
  return { refuse: 'invalid_parameter', message: 'use text, json_object or json_schema', at: 'type' };
}, reference('TextFormat'));
export type TextFormat = z.output<typeof textFormat>;

/** `response_format` of chat completions, read as `text.format`. */
export const responseFormat = chosenBy((value) => {
  if (isObject(value) && value.type === 'json_schema') {
    return z
      .object({ type: z.literal('json_schema'), json_schema: z.object(jsonSchemaBody) })
      .transform((format): TextFormat => ({ type: 'json_schema', ...format.json_schema }));
  }
  return textFormat;
}, reference('ResponseFormat'));

/** `reasoning.effort`: OpenAI's further values map to the nearest of ours. */
export const effort = z
  .enum(['none', 'minimal', 'low', 'medium', 'high', 'xhigh', 'max'])
  .transform((value): 'low' | 'medium' | 'high' => {
    if (value === 'none' || value === 'minimal') return 'low';
    return value === 'xhigh' || value === 'max' ? 'high' : value;
  });

const role = z.enum(['user', 'assistant', 'system', 'developer']);
const textPart = z.object({ text: z.string() }).transform(({ text }) => ({ type: 'text' as const, text }));
const imagePart = z
  .object({
    image_url: chosenBy((value) =>
      isObject(value) ? z.object({ url: z.string().min(1) }).transform(({ url }) => url) : z.string().min(1),
    ),
  })
  .transform(({ image_url }) => ({ type: 'image' as const, url: image_url }));

/** A content part, of Responses (`input_text`, `output_text`, `input_image`) or chat (`text`, `image_url`). */
const contentPart = chosenBy((value) => {
  if (!isObject(value)) return { refuse: 'invalid_parameter', message: 'expected an object' };
  switch (value.type) {
    case 'input_text':
    case 'output_text':
    case 'text':
      return textPart;
    case 'input_image':
    case 'image_url':
      return imagePart;
    case undefined:
      return { refuse: 'missing_parameter', message: 'this field is required', at: 'type' };
    default:
      return { refuse: 'invalid_parameter', message: 'unknown part type: use input_text or input_image', at: 'type' };
  }
});
export type ContentPart = z.output<typeof contentPart>;

const content = chosenBy((value) => {
  if (typeof value === 'string') return z.string().transform((text): ContentPart[] => [{ type: 'text', text }]);
  if (Array.isArray(value)) return z.array(contentPart);
  return { refuse: 'invalid_parameter', message: 'expected a string or an array of parts' };
}, reference('Content'));

const message = z.object({ role, content }).transform((item) => ({ type: 'message' as const, ...item }));
export type InputMessage = z.output<typeof message>;

const priorToolCall = z
  .object({ name: z.string(), arguments: optional(z.string()), result: optional(z.string()) })
  .transform((item) => ({ type: 'tool_call' as const, ...item }));
const priorReasoning = z.looseObject({}).transform(() => ({ type: 'reasoning' as const }));
const itemReference = z
  .object({ id: z.string().min(1) })
  .transform((item) => ({ type: 'item_reference' as const, ...item }));

/** An input item (contract section 3.1). */
export const inputItem = chosenBy((value) => {
  if (!isObject(value)) return { refuse: 'invalid_parameter', message: 'expected an object' };
  switch (value.type ?? 'message') {
    case 'message':
      return message;
    case 'tool_call':
      return priorToolCall;
    case 'reasoning':
      return priorReasoning;
    case 'item_reference':
      return itemReference;
    case 'function_call':
    case 'function_call_output':
      return { refuse: 'unsupported_parameter', message: 'function calls cannot be used: tools run on the server' };
    default:
      return { refuse: 'invalid_parameter', message: 'unknown item type: use message', at: 'type' };
  }
}, reference('InputItem'));
export type InputItem = z.output<typeof inputItem>;

const input = chosenBy((value) => {
  if (typeof value === 'string') {
    return z
      .string()
      .min(1, 'must not be empty')
      .transform((text): InputItem[] => [{ type: 'message', role: 'user', content: [{ type: 'text', text }] }]);
  }
  if (Array.isArray(value)) return z.array(inputItem).min(1, 'must not be empty').max(10_000);
  return { refuse: 'invalid_parameter', message: 'expected a string or an array of items' };
}, reference('Input')).superRefine((items, context) => {
  if (Array.isArray(items) && items.length > 0 && !items.some(isUserText)) {
    context.addIssue({ code: 'custom', message: 'needs at least one user message with text' });
  }
});

function isUserText(item: InputItem): boolean {
  return (
    item.type === 'message' &&
    item.role === 'user' &&
    item.content.some((part) => part.type === 'text' && part.text.trim() !== '')
  );
}

/** `POST /v1/responses` on a research model (contract section 3). */
export const createResponse = z.object({
  model: modelName,
  input,
  stream: z.boolean().optional(),
  background: z.boolean().optional(),
  instructions: z.string().optional(),
  previous_response_id: z.string().min(1).optional(),
  max_output_tokens: z.int().min(1).optional(),
  max_tool_calls: z.int().min(1).optional(),
  temperature: temperature.optional(),
  top_p: topP.optional(),
  metadata: metadata.optional(),
  reasoning: z.object({ effort: optional(effort) }).optional(),
  tools: z.array(responseTool).max(64).optional(),
  tool_choice: toolChoice.optional(),
  mcp_servers: mcpServers.optional(),
  text: z.object({ format: optional(textFormat) }).optional(),
  prompt: unsupported('stored prompts are not supported: send input'),
  conversation: unsupported('conversations are not supported: use previous_response_id'),
});
export type CreateResponse = z.output<typeof createResponse>;

const chatMessages = chosenBy(
  (value) =>
    Array.isArray(value)
      ? z.array(chatMessage).min(1, 'must not be empty').max(10_000)
      : { refuse: 'invalid_parameter', message: 'expected an array of messages' },
  { type: 'array', items: reference('ChatMessage'), minItems: 1 },
).superRefine((messages, context) => {
  if (Array.isArray(messages) && messages.length > 0 && !messages.some(isUserText)) {
    context.addIssue({ code: 'custom', message: 'needs at least one user message with text' });
  }
});

const chatMessage = chosenBy((value) => {
  if (!isObject(value)) return { refuse: 'invalid_parameter', message: 'expected an object' };
  if (value.role === 'tool' || value.role === 'function') {
    return {
      refuse: 'unsupported_parameter',
      message: 'tool messages cannot be used: tools run on the server',
      at: 'role',
    };
  }
  return message;
});

const NO_FUNCTIONS = 'client-side functions cannot be used: tools run on the server';

/** `POST /v1/chat/completions` and `POST /v1/async` on a research model (contract sections 6 and 7). */
export const createChatCompletion = z.object({
  model: modelName,
  messages: chatMessages,
  stream: z.boolean().optional(),
  max_tokens: z.int().min(1).optional(),
  max_completion_tokens: z.int().min(1).optional(),
  max_tool_calls: z.int().min(1).optional(),
  temperature: temperature.optional(),
  top_p: topP.optional(),
  metadata: metadata.optional(),
  reasoning_effort: effort.optional(),
  tools: z.array(chatTool()).max(64).optional(),
  tool_choice: toolChoice.optional(),
  functions: z
    .array(z.unknown())
    .optional()
    .superRefine((value, context) => {
      if (value && value.length > 0)
        context.addIssue({ code: 'custom', message: NO_FUNCTIONS, params: { code: 'unsupported_parameter' } });
    }),
  function_call: unsupported(NO_FUNCTIONS),
  mcp_servers: mcpServers.optional(),
  response_format: responseFormat.optional(),
  n: chosenBy(
    (value) =>
      value === 1
        ? z.literal(1)
        : Number.isInteger(value)
          ? { refuse: 'unsupported_parameter', message: 'only 1 is supported' }
          : z.int().min(1),
    { type: 'integer', enum: [1] },
  ).optional(),
  audio: unsupported('audio output is not supported'),
});
export type CreateChatCompletion = z.output<typeof createChatCompletion>;

function chatTool() {
  return chosenBy(
    (value) =>
      isObject(value) && (value.type === undefined || value.type === 'function')
        ? { refuse: 'unsupported_parameter', message: TOOLS_RUN_HERE }
        : responseTool,
    reference('Tool'),
  );
}
