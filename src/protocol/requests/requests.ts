import { z } from 'zod';
import { isObject, type JsonObject } from '../../base/json.ts';
import { effort, reasoningSummary } from '../response.ts';
import { boundedList, optional, unsupported, unsupportedField } from './parse.ts';
import { chatResponseFormat, formatComponents, textFormat } from './request-formats.ts';
import { messageComponents, messageList, researchInput, threadInput } from './request-input.ts';
import { chatTool, mcpServers, plainTool, responseTool, toolComponents } from './request-tools.ts';
import { requestedWebhook } from './requested-webhook.ts';
import { researchOptions } from './research-options.ts';
import { researchToolChoice } from './tool-choice.ts';

/** The bodies of POST requests on research models. */

/** Free-form metadata, at most 16 KiB as JSON (docs/api.md, "POST /v1/responses"). */
export const metadata = z
  .custom<JsonObject>(isObject, 'expected an object')
  .refine((value) => Buffer.byteLength(JSON.stringify(value)) <= 16_384, 'must be at most 16 KiB as JSON')
  .meta({ type: 'object', additionalProperties: true, description: 'Free-form, at most 16 KiB as JSON.' });

const common = {
  model: z.string().min(1, 'must not be empty'),
  stream: z.boolean().optional(),
  max_tool_calls: z.int().min(1).optional(),
  /** In the configured currency. */
  max_cost: z.number().positive().optional(),
  temperature: z.number().min(0).max(2).optional(),
  top_p: z.number().min(0).max(1).optional(),
  metadata: metadata.optional(),
  tool_choice: researchToolChoice.optional(),
  /** Only for functions of the client. */
  parallel_tool_calls: z.boolean().optional(),
  mcp_servers: mcpServers.optional(),
  research: researchOptions.optional(),
};

const conversationId = z.string().min(1, 'must not be empty');
const conversation = z
  .union(
    [conversationId, z.object({ id: conversationId }).transform(({ id }) => id)],
    'expected the id of a conversation, or an object with its id',
  )
  .optional()
  .describe('The id of a conversation, or an object with it. Not together with `previous_response_id`.');

/** `POST /v1/responses` on a research model (docs/api.md, "POST /v1/responses"). */
export const createResponseBody = z.object({
  ...common,
  input: researchInput,
  background: z.boolean().optional(),
  store: z.boolean().optional(),
  instructions: z.string().optional(),
  previous_response_id: z.string().min(1).optional(),
  max_output_tokens: z.int().min(1).optional(),
  reasoning: z.object({ effort: optional(effort), summary: optional(reasoningSummary) }).optional(),
  tools: boundedList(responseTool, { max: 64 }).optional(),
  text: z.object({ format: optional(textFormat) }).optional(),
  prompt: unsupportedField('stored prompts are not supported: send input'),
  conversation,
  webhook: requestedWebhook.optional(),
});
export type CreateResponse = z.output<typeof createResponseBody>;

/** `POST /v1/responses/compact` (docs/api.md, "Counting and compacting"). */
export const compactBody = createResponseBody
  .pick({ model: true, instructions: true, previous_response_id: true })
  .extend({ input: threadInput.optional() });
export type CompactBody = z.output<typeof compactBody>;

/** `POST /v1/responses/input_tokens` on any model (docs/api.md, "Counting and compacting"). */
export const countBody = compactBody.extend({
  conversation: createResponseBody.shape.conversation,
  tools: boundedList(plainTool, { max: 128 }).optional(),
  text: createResponseBody.shape.text,
});
export type CountBody = z.output<typeof countBody>;

const NO_FUNCTIONS = 'functions are called tools: send tools';

/** `POST /v1/chat/completions` on a research model (docs/api.md, "Chat completions"). */
export const createChatCompletionBody = z.object({
  ...common,
  messages: messageList,
  stream_options: z.object({ include_usage: optional(z.boolean()) }).optional(),
  max_tokens: z.int().min(1).optional(),
  max_completion_tokens: z.int().min(1).optional(),
  reasoning_effort: effort.optional(),
  /** OpenRouter's form of `reasoning_effort`, which some clients send to every server. */
  reasoning: z.object({ effort: optional(effort) }).optional(),
  tools: boundedList(chatTool, { max: 64 }).optional(),
  functions: z
    .array(z.unknown())
    .refine((functions) => functions.length === 0, unsupported(NO_FUNCTIONS))
    .optional(),
  function_call: unsupportedField(NO_FUNCTIONS),
  response_format: chatResponseFormat.optional(),
  n: z
    .int()
    .min(1)
    .refine((n) => n <= 1, unsupported('only 1 is supported'))
    .meta({ type: 'integer', enum: [1] })
    .optional(),
  audio: unsupportedField('audio output is not supported'),
  webhook: unsupportedField('webhooks are for background work only: use /v1/async, or /v1/responses with background'),
});
export type CreateChatCompletion = z.output<typeof createChatCompletionBody>;

/** `POST /v1/async` on a research model (docs/api.md, "Async"). */
export const createTaskBody = createChatCompletionBody.extend({ webhook: requestedWebhook.optional() });

/** For the API description: parts of these bodies whose schema is chosen by the value. */
export const inputComponents = { ...messageComponents, ...toolComponents, ...formatComponents };
