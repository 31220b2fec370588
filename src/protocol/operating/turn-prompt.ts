import { z } from 'zod';

/** `GET /admin/responses/:id/turns/:number` (docs/api.md, "The prompt of a turn"). */

const count = z.int().nonnegative();

export const turnPrompt = z.object({
  object: z.literal('response.turn_prompt'),
  id: z.string(),
  /** The number of the turn in the timeline, counted from 1. */
  turn: z.int().positive(),
  kind: z.enum(['research', 'answer']),
  lane: z.int().positive().optional(),
  /** Estimate for the whole request, including its tools. */
  estimated_tokens: count,
  /** The names of the tools that were offered to the model. */
  tools: z.array(z.string()),
  messages: z.array(
    z.object({
      role: z.enum(['system', 'user', 'assistant', 'tool']),
      characters: count,
      estimated_tokens: count,
      /** Null unless `telemetry.contents` is true. */
      text: z.string().nullable(),
      /** The tool calls of an assistant's message; `arguments` is null like `text`. */
      calls: z.array(z.object({ name: z.string(), arguments: z.string().nullable() })).optional(),
    }),
  ),
});
export type TurnPrompt = z.output<typeof turnPrompt>;
