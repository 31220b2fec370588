import { z } from 'zod';

/** Requests and responses under `/admin`. Times are Unix seconds. */

const count = z.int().nonnegative();

/** A key without its secret. Settings have the names of the configuration file (docs/keys.md). */
export const adminKey = z.looseObject({
  object: z.literal('key'),
  id: z.string(),
  /** Where the key is defined; only keys of the store can be changed through the API. */
  source: z.enum(['store', 'file']),
  created_at: z.int().nullable(),
  /** Until when the secret before the last rotation is accepted too. */
  rotated_until: z.int().nullable(),
  /** The providers for which the key has credentials of its own. */
  provider_keys: z.array(z.string()).optional(),
  /** Without its secret and the query of its URL. */
  webhook: z.object({ url: z.string().nullable(), events: z.array(z.string()).optional() }).optional(),
  /** Why the key is not in force. */
  problem: z.string().optional(),
});
export type AdminKey = z.output<typeof adminKey>;

/** The secret is in this response and never shown again. */
export const adminKeyWithSecret = adminKey.extend({ secret: z.string() });

function pageOf<T extends z.ZodType>(entry: T) {
  return z.object({ object: z.literal('list'), data: z.array(entry), has_more: z.boolean() });
}

export const adminKeyList = pageOf(adminKey);

export const deletedKey = z.object({ object: z.literal('key'), id: z.string(), deleted: z.literal(true) });

/** `overlap_seconds`: how long the old secret is accepted too. */
export const rotateKeyBody = z.strictObject({
  overlap_seconds: z
    .int()
    .min(0)
    .max(30 * 86_400)
    .default(0),
});

/** The fields by which rows of usage can be grouped. */
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
  /** The first and last day that are included. */
  from: z.string(),
  to: z.string(),
  /** The currency of costs. */
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

/** `by`: the id of the acting key; `target`: what it acted on; `address`: the client's IP address. */
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
