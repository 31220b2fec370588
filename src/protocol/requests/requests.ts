import { z } from 'zod';
import { isObject, type JsonObject } from '../../base/json.ts';
import { reasoningSummary } from '../response.ts';
import { boundedList, cannot, optional, unsupported } from './parse.ts';
import { formatComponents, responseFormat, textFormat } from './request-formats.ts';
import { chatMessages, input, messageComponents } from './request-input.ts';
import { chatTool, mcpServers, responseTool, toolChoice, toolComponents } from './request-tools.ts';

/** The bodies of POST requests on research models. */

/** Free-form metadata, at most 16 KiB as JSON (contract section 3). */
const metadata = z
  .custom<JsonObject>(isObject, 'expected an object')
  .refine((value) => Buffer.byteLength(JSON.stringify(value)) <= 16_384, 'must be at most 16 KiB as JSON')
  .meta({ type: 'object', additionalProperties: true, description: 'Free-form, at most 16 KiB as JSON.' });

/** `reasoning.effort`: OpenAI's further values map to the nearest of ours. */
const effort = z
  .enum(['none', 'minimal', 'low', 'medium', 'high', 'xhigh', 'max'])
  .transform((value): 'low' | 'medium' | 'high' => {
    if (value === 'none' || value === 'minimal') return 'low';
    return value === 'xhigh' || value === 'max' ? 'high' : value;
  });

const common = {
  model: z.string().min(1, 'must not be empty'),
  stream: z.boolean().optional(),
  max_tool_calls: z.int().min(1).optional(),
  /** In the configured currency. */
  max_cost: z.number().positive().optional(),
  temperature: z.number().min(0).max(2).optional(),
  top_p: z.number().min(0).max(1).optional(),
  metadata: metadata.optional(),
  tool_choice: toolChoice.optional(),
  mcp_servers: mcpServers.optional(),
};

/** `POST /v1/responses` on a research model (contract section 3). */
export const createResponseBody = z.object({
  ...common,
  input,
  background: z.boolean().optional(),
  instructions: z.string().optional(),
  previous_response_id: z.string().min(1).optional(),
  max_output_tokens: z.int().min(1).optional(),
  reasoning: z.object({ effort: optional(effort), summary: optional(reasoningSummary) }).optional(),
  tools: boundedList(responseTool, { max: 64 }).optional(),
  text: z.object({ format: optional(textFormat) }).optional(),
  prompt: unsupported('stored prompts are not supported: send input'),
  conversation: unsupported('conversations are not supported: use previous_response_id'),
});
export type CreateResponse = z.output<typeof createResponseBody>;

const NO_FUNCTIONS = 'client-side functions cannot be used: tools run on the server';

/** `POST /v1/chat/completions` and `POST /v1/async` on a research model (contract sections 6 and 7). */
export const createChatCompletion = z.object({
  ...common,
  messages: chatMessages,
  stream_options: z.object({ include_usage: optional(z.boolean()) }).optional(),
  max_tokens: z.int().min(1).optional(),
  max_completion_tokens: z.int().min(1).optional(),
  reasoning_effort: effort.optional(),
  /** As OpenRouter has it, and clients that take every server for one. */
  reasoning: z.object({ effort: optional(effort) }).optional(),
  tools: boundedList(chatTool, { max: 64 }).optional(),
  functions: z
    .array(z.unknown())
    .refine((functions) => functions.length === 0, cannot(NO_FUNCTIONS))
    .optional(),
  function_call: unsupported(NO_FUNCTIONS),
  response_format: responseFormat.optional(),
  n: z
    .int()
    .refine((n) => n === 1, cannot('only 1 is supported'))
    .meta({ type: 'integer', enum: [1] })
    .optional(),
  audio: unsupported('audio output is not supported'),
});
export type CreateChatCompletion = z.output<typeof createChatCompletion>;

/** What stands in these bodies and is chosen by looking at it, for the API description. */
export const inputComponents = { ...messageComponents, ...toolComponents, ...formatComponents };
