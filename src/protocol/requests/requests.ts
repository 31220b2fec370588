import { z } from 'zod';
import { isObject, type JsonObject } from '../../base/json.ts';
import { reasoningSummary } from '../response.ts';
import { boundedList, chosenBy, optional, reference, unsupported } from './parse.ts';
import { responseFormat, textFormat } from './request-formats.ts';
import { chatMessages, input } from './request-input.ts';
import { chatTool, mcpServers, responseTool, toolChoice } from './request-tools.ts';

/** The bodies of POST requests on research models. */

export const modelName = z.string().min(1, 'must not be empty');

/** Free-form metadata, at most 16 KiB as JSON (contract section 3). */
export const metadata = z
  .custom<JsonObject>(isObject, 'expected an object')
  .refine((value) => Buffer.byteLength(JSON.stringify(value)) <= 16_384, 'must be at most 16 KiB as JSON')
  .meta({ type: 'object', additionalProperties: true, description: 'Free-form, at most 16 KiB as JSON.' });

/** In the configured currency. */
export const maxCost = z.number().positive();
export const temperature = z.number().min(0).max(2);
export const topP = z.number().min(0).max(1);

/** `reasoning.effort`: OpenAI's further values map to the nearest of ours. */
export const effort = z
  .enum(['none', 'minimal', 'low', 'medium', 'high', 'xhigh', 'max'])
  .transform((value): 'low' | 'medium' | 'high' => {
    if (value === 'none' || value === 'minimal') return 'low';
    return value === 'xhigh' || value === 'max' ? 'high' : value;
  });

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
  max_cost: maxCost.optional(),
  temperature: temperature.optional(),
  top_p: topP.optional(),
  metadata: metadata.optional(),
  reasoning: z.object({ effort: optional(effort), summary: optional(reasoningSummary) }).optional(),
  tools: boundedList(responseTool, { max: 64, described: reference('Tool') }).optional(),
  tool_choice: toolChoice.optional(),
  mcp_servers: mcpServers.optional(),
  text: z.object({ format: optional(textFormat) }).optional(),
  prompt: unsupported('stored prompts are not supported: send input'),
  conversation: unsupported('conversations are not supported: use previous_response_id'),
});
export type CreateResponse = z.output<typeof createResponse>;

const NO_FUNCTIONS = 'client-side functions cannot be used: tools run on the server';

const one = z.literal(1);
const positive = z.int().min(1);

/** `POST /v1/chat/completions` and `POST /v1/async` on a research model (contract sections 6 and 7). */
export const createChatCompletion = z.object({
  model: modelName,
  messages: chatMessages,
  stream: z.boolean().optional(),
  stream_options: z.object({ include_usage: optional(z.boolean()) }).optional(),
  max_tokens: z.int().min(1).optional(),
  max_completion_tokens: z.int().min(1).optional(),
  max_tool_calls: z.int().min(1).optional(),
  max_cost: maxCost.optional(),
  temperature: temperature.optional(),
  top_p: topP.optional(),
  metadata: metadata.optional(),
  reasoning_effort: effort.optional(),
  /** As OpenRouter has it, and clients that take every server for one. */
  reasoning: z.object({ effort: optional(effort) }).optional(),
  tools: boundedList(chatTool, { max: 64, described: reference('Tool') }).optional(),
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
        ? one
        : Number.isInteger(value)
          ? { refuse: 'unsupported_parameter', message: 'only 1 is supported' }
          : positive,
    { type: 'integer', enum: [1] },
  ).optional(),
  audio: unsupported('audio output is not supported'),
});
export type CreateChatCompletion = z.output<typeof createChatCompletion>;
