import { z } from 'zod';
import { chatChunk, chatCompletion, chatUsage } from '../chat.ts';
import { errorBody } from '../errors.ts';
import { cost, responseObject } from '../response.ts';

/** Answers beside those of research models: what a provider sends is passed on, so only its essentials are promised. */

const call = z.object({
  index: z.int().optional(),
  id: z.string().nullish(),
  type: z.string().nullish(),
  function: z.object({ name: z.string().nullish(), arguments: z.string().nullish() }).nullish(),
});
const message = {
  content: z.string().nullish(),
  refusal: z.string().nullish(),
  reasoning_content: z.string().nullish(),
  tool_calls: z.array(call).nullish(),
};
const choice = { index: z.int(), finish_reason: z.string().nullish(), logprobs: z.looseObject({}).nullish() };
const head = { id: z.string(), object: z.string(), created: z.int(), model: z.string() };
const tail = {
  usage: z
    .object({
      ...chatUsage.shape,
      cost: z.union([cost, z.number()]).nullish(),
      prompt_tokens_details: z.object({ cached_tokens: z.int().nullish() }).nullish(),
      completion_tokens_details: z.object({ reasoning_tokens: z.int().nullish() }).nullish(),
    })
    .nullish(),
  warnings: chatChunk.shape.warnings,
  error: chatChunk.shape.error,
};
const description = 'Of a plain model; its provider may send more fields.';

const plainCompletion = z
  .object({
    ...head,
    choices: z.array(z.object({ ...choice, message: z.object({ role: z.literal('assistant'), ...message }) })),
    ...tail,
  })
  .meta({ id: 'PlainChatCompletion', description });
const plainChunk = z
  .object({
    ...head,
    choices: z.array(z.object({ ...choice, delta: z.object({ role: z.string().nullish(), ...message }) })),
    ...tail,
  })
  .meta({ id: 'PlainChatCompletionChunk', description });

export const completion = z
  .union([chatCompletion.meta({ id: 'ResearchChatCompletion' }), plainCompletion])
  .meta({ id: 'ChatCompletion' });
export const chunk = z
  .union([chatChunk.meta({ id: 'ResearchChatCompletionChunk' }), plainChunk, errorBody.meta({ id: 'Error' })])
  .meta({ id: 'ChatCompletionChunk', description: 'A stream that fails ends with an error.' });

export const response = responseObject.meta({ id: 'Response' });
const nativeResponse = z
  .object({ id: z.string(), object: z.literal('response') })
  .meta({ id: 'NativeResponse', description: "The provider's own, from a model with `responses: native`." });
export const postedResponse = z.union([response, nativeResponse]);
