import { z } from 'zod';

/** What operators read and write under `/admin`, for the API description and its answers. Times are Unix seconds. */

const count = z.int().nonnegative();

/** A key as operators see it: never its secret. Settings are named as in the configuration file (docs/keys.md). */
export const adminKey = z.looseObject({
  object: z.literal('key'),
  id: z.string(),
  /** Where it is kept; only keys of the store can be changed here. */
  source: z.enum(['store', 'file']),
  created_at: z.int().nullable(),
  /** Until when the secret of before a rotation is taken too. */
  rotated_until: z.int().nullable(),
  /** The providers that it has credentials of its own for. */
  provider_keys: z.array(z.string()).optional(),
  /** Without its secret, and the query of its address. */
  webhook: z.object({ url: z.string().nullable(), events: z.array(z.string()).optional() }).optional(),
  /** Why it is not in force. */
  problem: z.string().optional(),
});
export type AdminKey = z.output<typeof adminKey>;

/** The secret is shown in this answer and never again. */
export const adminKeyWithSecret = adminKey.extend({ secret: z.string() });

function pageOf<T extends z.ZodType>(entry: T) {
  return z.object({ object: z.literal('list'), data: z.array(entry), has_more: z.boolean() });
}

export const adminKeyList = pageOf(adminKey);

export const deletedKey = z.object({ object: z.literal('key'), id: z.string(), deleted: z.literal(true) });

/** `overlap_seconds`: for how long the secret of before is taken too. */
export const rotateKeyBody = z.strictObject({
  overlap_seconds: z
    .int()
    .min(0)
    .max(30 * 86_400)
    .default(0),
});

/** What rows of usage are added up by. */
export const USAGE_GROUPS = ['key', 'team', 'model', 'tag', 'day'] as const;
export type UsageGroup = (typeof USAGE_GROUPS)[number];

const day = z.iso.date({ error: 'must be a day such as 2026-11-24' });

export const usageQuery = z.object({
  from: day.optional(),
  to: day.optional(),
  group_by: z.string().default('day'),
  format: z.enum(['json', 'csv']).default('json'),
});

export const usageList = z.object({
  object: z.literal('list'),
  /** The days that were added up, both included. */
  from: z.string(),
  to: z.string(),
  /** Costs are in it. */
  currency: z.string(),
  data: z.array(
    z.object({
      key: z.string().optional(),
      team: z.string().optional(),
      model: z.string().optional(),
      tag: z.string().optional(),
      day: z.string().optional(),
      requests: count,
      errors: count,
      input_tokens: count,
      cached_tokens: count,
      output_tokens: count,
      reasoning_tokens: count,
      cost: z.number(),
    }),
  ),
});
export type UsageList = z.output<typeof usageList>;

export const auditQuery = z.object({ limit: z.int().min(1).max(1000).default(100), after: z.string().optional() });

/** `time`: Unix seconds; `by`: id of the key that did it; `target`: to what; `address`: where it came from. */
export const auditEntry = z.object({
  id: z.string(),
  time: z.int(),
  instance: z.string(),
  action: z.string(),
  by: z.string().optional(),
  target: z.string().optional(),
  address: z.string().optional(),
  detail: z.string().optional(),
});

export const auditList = pageOf(auditEntry);
export type AuditList = z.output<typeof auditList>;
