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
  /** Of the request, with its tools. */
  estimated_tokens: count,
  /** The names of the tools that the model was offered. */
  tools: z.array(z.string()),
  messages: z.array(
    z.object({
      role: z.enum(['system', 'user', 'assistant', 'tool']),
      characters: count,
      estimated_tokens: count,
      /** Null unless `telemetry.contents` is true. */
      text: z.string().nullable(),
      /** What an assistant's message called; `arguments` as `text`. */
      calls: z.array(z.object({ name: z.string(), arguments: z.string().nullable() })).optional(),
    }),
  ),
});
export type TurnPrompt = z.output<typeof turnPrompt>;
