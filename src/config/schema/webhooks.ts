import { z } from 'zod';
import { WEBHOOK_SECRET_RULE, webhookKey } from '../../base/secrets/webhook-secret.ts';
import { httpUrl } from './values.ts';

/** `webhooks`, and the receiver of a key (docs/webhooks.md). */

/** What receivers are told of. */
export const WEBHOOK_EVENTS = [
  'response.completed',
  'response.failed',
  'response.cancelled',
  'response.incomplete',
  'task.completed',
  'task.failed',
  'task.cancelled',
] as const;

const secret = z.string().refine((text) => webhookKey(text) !== undefined, { error: WEBHOOK_SECRET_RULE });

export const keyWebhook = z.strictObject({
  url: httpUrl,
  /** A list while it is being changed: each of them signs. */
  secret: z
    .union([secret, z.array(secret).min(1).max(4)])
    .optional()
    .transform((given) => (given === undefined ? [] : [given].flat())),
  /** Absent: all. */
  events: z.array(z.enum(WEBHOOK_EVENTS)).min(1).optional(),
});

export const webhooks = z.strictObject({
  /** Hosts that are told although they are not on the public internet, with everything below them. */
  allow_hosts: z.array(z.string().min(1)).default([]),
});
