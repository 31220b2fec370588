import { z } from 'zod';

/** `GET /v1/responses/:id/timeline` (docs/api.md, "The timeline"). Times are milliseconds since the run was submitted. */

const count = z.int().nonnegative();

export const timelineTurn = z.object({
  /** The purpose of the turn. */
  kind: z.enum(['research', 'outline', 'answer', 'check', 'summary', 'other']),
  /** The research lane, counted from 1; absent without lanes. */
  lane: z.int().positive().optional(),
  started_ms: count,
  ended_ms: count,
  input_tokens: count,
  cached_tokens: count,
  output_tokens: count,
  reasoning_tokens: count,
  /** In the timeline's currency; null if the routes have no price. */
  cost: z.number().nullable(),
});
export type TimelineTurn = z.output<typeof timelineTurn>;

export const timeline = z.object({
  object: z.literal('response.timeline'),
  id: z.string(),
  /** When the run was submitted, Unix milliseconds. */
  created_ms: count,
  /** `[sequence_number, ms]`: when events were stored, from after the previous number up to this one. */
  times: z.array(z.tuple([count, count])),
  turns: z.array(timelineTurn),
  /** The currency of costs. */
  currency: z.string(),
});
export type Timeline = z.output<typeof timeline>;
