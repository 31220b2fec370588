import { z } from 'zod';
import { isObject, type JsonObject } from '../base/json.ts';

/** The parts of a chat completion request that the demo model reads; everything else is accepted and ignored. */

const content = z
  .union([z.string(), z.array(z.looseObject({ text: z.string().default('') }))])
  .nullish()
  .transform((value) => (typeof value === 'string' ? value : (value ?? []).map(({ text }) => text).join('')));

const called = z.object({ function: z.object({ name: z.string(), arguments: z.string() }) });
const message = z.object({
  role: z.enum(['system', 'developer', 'user', 'assistant', 'tool']),
  content,
  tool_calls: z
    .array(called)
    .nullish()
    .transform((calls) => (calls ?? []).map((call) => call.function)),
});

const schema = z.custom<JsonObject>(isObject).optional();
const tool = z.object({ type: z.literal('function'), function: z.object({ name: z.string(), parameters: schema }) });
const named = z.object({ type: z.literal('function'), function: z.object({ name: z.string() }) });

export const demoRequest = z.object({
  model: z.string().min(1),
  messages: z.array(message).min(1),
  stream: z.boolean().nullish(),
  stream_options: z.object({ include_usage: z.boolean().optional() }).nullish(),
  tools: z.array(tool).nullish(),
  tool_choice: z.union([z.enum(['auto', 'none', 'required']), named]).nullish(),
  parallel_tool_calls: z.boolean().nullish(),
  max_tokens: z.int().positive().nullish(),
  max_completion_tokens: z.int().positive().nullish(),
  response_format: z.object({ type: z.string(), json_schema: z.object({ schema }).optional() }).nullish(),
});

export type DemoRequest = z.output<typeof demoRequest>;
export type DemoMessage = DemoRequest['messages'][number];
export type DemoTool = NonNullable<DemoRequest['tools']>[number]['function'];
