import { z } from 'zod';
import { isObject, type JsonObject } from '../base/json.ts';

/** The parts of a chat completion request that the demo model looks at; everything else is accepted. */

const part = z.looseObject({ type: z.string(), text: z.string().optional() });
const content = z
  .union([z.string(), z.array(part)])
  .nullish()
  .transform((value) => {
    if (typeof value === 'string') return value;
    return (value ?? []).map((each) => each.text ?? '').join('');
  });

const message = z.looseObject({
  role: z.enum(['system', 'developer', 'user', 'assistant', 'tool']),
  content,
  tool_calls: z
    .array(z.looseObject({ function: z.looseObject({ name: z.string(), arguments: z.string() }) }))
    .nullish()
    .transform((calls) => (calls ?? []).map((call) => call.function)),
});

const tool = z.looseObject({
  type: z.literal('function'),
  function: z.looseObject({ name: z.string(), parameters: z.custom<JsonObject>(isObject).optional() }),
});

export const demoRequest = z.looseObject({
  model: z.string().min(1),
  messages: z.array(message).min(1),
  stream: z.boolean().nullish(),
  stream_options: z.looseObject({ include_usage: z.boolean().optional() }).nullish(),
  tools: z.array(tool).nullish(),
  tool_choice: z
    .union([
      z.enum(['auto', 'none', 'required']),
      z.looseObject({ type: z.literal('function'), function: z.looseObject({ name: z.string() }) }),
    ])
    .nullish(),
  parallel_tool_calls: z.boolean().nullish(),
  max_tokens: z.int().positive().nullish(),
  max_completion_tokens: z.int().positive().nullish(),
  response_format: z
    .looseObject({
      type: z.string(),
      json_schema: z.looseObject({ schema: z.custom<JsonObject>(isObject).optional() }).optional(),
    })
    .nullish(),
});

export type DemoRequest = z.output<typeof demoRequest>;
export type DemoMessage = DemoRequest['messages'][number];
export type DemoTool = NonNullable<DemoRequest['tools']>[number]['function'];
