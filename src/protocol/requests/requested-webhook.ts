import { z } from 'zod';
import { WEBHOOK_SECRET_RULE, webhookKey } from '../../base/secrets/webhook-secret.ts';
import { optional } from './parse.ts';

const MAX_LENGTH = 2048;

/** `webhook` of a request: the receiver of a notification when the run ends (docs/webhooks.md). */
export const requestedWebhook = z.strictObject({
  url: z.string().max(MAX_LENGTH).refine(isHttpUrl, 'expected an http or https URL without user and password'),
  secret: optional(z.string().refine((text) => webhookKey(text) !== undefined, WEBHOOK_SECRET_RULE)),
});
export type RequestedWebhook = z.output<typeof requestedWebhook>;

function isHttpUrl(text: string): boolean {
  const url = URL.parse(text);
  return url !== null && /^https?:$/.test(url.protocol) && url.username === '' && url.password === '';
}
