import { z } from 'zod';
import { storedError } from './errors.ts';

/** The objects of the Async interface (docs/api.md, "Async"). Times are ISO 8601 UTC with milliseconds. */

export const taskStatus = z.enum(['CREATED', 'IN_PROGRESS', 'COMPLETED', 'FAILED', 'CANCELLED']);

export const taskEntry = z.object({
  id: z.string().startsWith('task_'),
  status: taskStatus,
  model: z.string(),
  created_at: z.iso.datetime({ precision: 3 }),
  started_at: z.iso.datetime({ precision: 3 }).optional(),
  completed_at: z.iso.datetime({ precision: 3 }).optional(),
  cancelled_at: z.iso.datetime({ precision: 3 }).optional(),
});

/** `GET /v1/async/:id`: the entry, with the chat completion once COMPLETED and the error once FAILED. */
export const task = taskEntry.extend({ result: z.unknown().optional(), error: storedError.optional() });

export type TaskStatus = z.output<typeof taskStatus>;
export type TaskEntry = z.output<typeof taskEntry>;
