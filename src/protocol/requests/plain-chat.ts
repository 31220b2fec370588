import { z } from 'zod';
import { isObject } from '../../base/json.ts';
import { effortName } from '../response.ts';
import { boundedList, byType, pickSchema, unsupportedField } from './parse.ts';
import { threadMessages } from './request-input.ts';
import { chatFunction, functionTool } from './request-tools.ts';
import { requestedWebhook } from './requested-webhook.ts';
import { createChatCompletionBody } from './requests.ts';

/**
 * `POST /v1/chat/completions` on a plain model whose providers do not offer chat completions (docs/api.md, "Chat
 * completions of plain models"). Tools are converted to the format of the Responses API.
 */

const tool = pickSchema((value) =>
  isObject(value) && value.type != null && value.type !== 'function'
    ? {
        refuse: 'unsupported_parameter',
        message: 'only functions can be used in chat completions of this model: use /v1/responses',
        at: 'type',
      }
    : chatFunction,
);
const namedFunction = z
  .object({ type: z.literal('function'), function: functionTool.pick({ name: true }) })
  .transform(({ function: { name } }) => ({ type: 'function' as const, name }));
const allowedTools = z
  .object({
    type: z.literal('allowed_tools'),
    allowed_tools: z.object({ mode: z.enum(['auto', 'required']), tools: boundedList(namedFunction, { max: 128 }) }),
  })
  .transform(({ allowed_tools: { mode, tools } }) => ({ type: 'allowed_tools' as const, mode, tools }));
const anyChoice = z.enum(['auto', 'none', 'required']);
const toolChoice = pickSchema((value) => {
  if (!isObject(value)) return anyChoice;
  return byType(value, { function: namedFunction, allowed_tools: allowedTools }, 'use function or allowed_tools');
});

const { model, stream, stream_options, max_tokens, max_completion_tokens, temperature, top_p, n, audio } =
  createChatCompletionBody.shape;
const { metadata, response_format, functions, webhook } = createChatCompletionBody.shape;

export const plainChatBody = z.object({
  model,
  messages: threadMessages,
  stream,
  stream_options,
  max_tokens,
  max_completion_tokens,
  temperature,
  top_p,
  n,
  audio,
  metadata,
  response_format,
  reasoning_effort: effortName.optional(),
  verbosity: z.string().max(32).optional(),
  tools: boundedList(tool, { max: 128 }).optional(),
  tool_choice: toolChoice.optional(),
  parallel_tool_calls: z.boolean().optional(),
  prompt_cache_key: z.string().max(256).optional(),
  logprobs: z.boolean().optional(),
  top_logprobs: z.int().min(0).max(20).optional(),
  stop: z
    .union([z.string(), z.array(z.string()).max(4)], 'expected a string, or an array of at most 4')
    .transform((stop) => (typeof stop === 'string' ? [stop] : stop))
    .optional(),
  functions,
  max_cost: unsupportedField('only the cost of research can be bounded; max_tokens bounds this answer'),
  webhook,
});
/** Without what only one of chat completions and tasks has. */
export type PlainChatBody = Omit<z.output<typeof plainChatBody>, 'webhook'>;

/** `POST /v1/async` on such a plain model. */
export const plainTaskBody = plainChatBody.extend({ webhook: requestedWebhook.optional() });
