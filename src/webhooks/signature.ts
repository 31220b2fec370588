import { createHmac } from 'node:crypto';
import { webhookKey } from '../base/secrets/webhook-secret.ts';

/** The signed parts of a delivery. */
export interface WebhookMessage {
  /** The same for every attempt to deliver it. */
  id: string;
  /** When this attempt is made, in Unix seconds: receivers refuse old ones. */
  timestamp: number;
  body: string;
}

/**
 * The headers of a delivery (Standard Webhooks, https://www.standardwebhooks.com): one signature for each secret, so that a
 * receiver may know either one while secrets are being rotated. Without a secret there is no signature.
 */
export function webhookHeaders({ id, timestamp, body }: WebhookMessage, secrets: readonly string[]) {
  const headers = { 'webhook-id': id, 'webhook-timestamp': `${timestamp}` };
  const keys = secrets.flatMap((secret) => webhookKey(secret) ?? []);
  if (keys.length === 0) return headers;
  const signed = `${id}.${timestamp}.${body}`;
  const signatures = keys.map((key) => `v1,${createHmac('sha256', key).update(signed).digest('base64')}`);
  return { ...headers, 'webhook-signature': signatures.join(' ') };
}
