import { z } from 'zod';

/** `GET /v1/webhook_deliveries` (docs/webhooks.md): how far a receiver is with the end of a run. Times are Unix seconds. */
export const webhookDelivery = z.object({
  id: z.string(),
  object: z.literal('webhook.delivery'),
  /** The response or task. */
  run: z.string(),
  receiver: z.enum(['request', 'key']),
  /** Without its query, which may hold a secret, that of a key without its path, too; null where nobody is named any more. */
  url: z.string().nullable(),
  event: z.object({ id: z.string(), type: z.string() }),
  status: z.enum(['pending', 'delivered', 'failed']),
  attempts: z.array(z.object({ created_at: z.int(), status_code: z.int().nullable(), error: z.string().nullable() })),
  next_attempt_at: z.int().nullable(),
});
export type WebhookDelivery = z.output<typeof webhookDelivery>;
