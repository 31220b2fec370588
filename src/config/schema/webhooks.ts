import { z } from 'zod';
import { WEBHOOK_SECRET_RULE, webhookKey } from '../../base/secrets/webhook-secret.ts';
import { hosts, httpUrl } from './values.ts';

/** `webhooks`, and the receiver of a key (docs/webhooks.md). */

/** The events that receivers can subscribe to. */
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
  /** May be a list during a rotation: every secret signs. */
  secret: z
    .union([secret, z.array(secret).min(1).max(4)], WEBHOOK_SECRET_RULE)
    .optional()
    .transform((secrets) => (secrets === undefined ? [] : [secrets].flat())),
  /** Default: all. */
  events: z.array(z.enum(WEBHOOK_EVENTS)).min(1).optional(),
});

export const webhooks = z.strictObject({
  /** Receivers that may be outside the public internet: hosts and their subdomains. */
  allow_hosts: hosts.default([]),
});
