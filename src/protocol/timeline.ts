import { z } from 'zod';

/** `GET /v1/responses/:id/timeline` (docs/api.md, "The timeline"). Times are milliseconds since the run was submitted. */

const count = z.int().nonnegative();

export const timelineTurn = z.object({
  /** What the model was asked for. */
  kind: z.enum(['research', 'outline', 'answer', 'check', 'summary', 'other']),
  /** Which of the lanes that research side by side, counted from 1; absent in a run without lanes. */
  lane: z.int().positive().optional(),
  started_ms: count,
  ended_ms: count,
  input_tokens: count,
  cached_tokens: count,
  output_tokens: count,
  reasoning_tokens: count,
  /** In the timeline's currency; null where the routes have no price. */
  cost: z.number().nullable(),
});
export type TimelineTurn = z.output<typeof timelineTurn>;

export const timeline = z.object({
  object: z.literal('response.timeline'),
  id: z.string(),
  /** When it was submitted, Unix milliseconds. */
  created_ms: count,
  /** `[sequence_number, ms]`: events behind the number before and up to this one were told then. */
  times: z.array(z.tuple([count, count])),
  turns: z.array(timelineTurn),
  /** Of the costs. */
  currency: z.string(),
});
export type Timeline = z.output<typeof timeline>;
