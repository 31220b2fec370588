import { z } from 'zod';

/** `GET /v1/webhook_deliveries` (docs/webhooks.md): the delivery of a run's end to a receiver. Times are Unix seconds. */
export const webhookDelivery = z.object({
  id: z.string(),
  object: z.literal('webhook.delivery'),
  /** The response or task. */
  run: z.string(),
  receiver: z.enum(['request', 'key']),
  /** Without its query, which may hold a secret; for a key's receiver also without its path. Null if it was removed. */
  url: z.string().nullable(),
  event: z.object({ id: z.string(), type: z.string() }),
  status: z.enum(['pending', 'delivered', 'failed']),
  attempts: z.array(z.object({ created_at: z.int(), status_code: z.int().nullable(), error: z.string().nullable() })),
  next_attempt_at: z.int().nullable(),
});
export type WebhookDelivery = z.output<typeof webhookDelivery>;
