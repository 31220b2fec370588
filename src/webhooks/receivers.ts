import type { LiveConfig } from '../config/live-config.ts';
import type { RequestedWebhook } from '../protocol/requests/requested-webhook.ts';
import { readWebhook } from '../runs/stored/stored-request.ts';
import type { RunRecord } from '../store/run-store.ts';
import type { ReceiverName } from './delivery.ts';
import type { WebhookEventType } from './event.ts';

/** Where events are sent, and the secrets that sign them. */
export interface WebhookReceiver {
  url: string;
  /** Empty: events are not signed. */
  secrets: readonly string[];
}

/**
 * Who gets an event of this run. The key's receiver is the current one, so that a changed secret takes effect at once. A
 * request's receiver without a secret of its own gets the signature of the key's.
 */
export function receiversOf(
  run: RunRecord,
  type: WebhookEventType,
  config: Pick<LiveConfig, 'keyById' | 'cipherOf'>,
): Partial<Record<ReceiverName, WebhookReceiver>> {
  const ofKey = config.keyById(run.keyId)?.webhook;
  const requested = requestedReceiver(run, config);
  const isWanted = ofKey && (ofKey.events?.includes(type) ?? true);
  return {
    ...(requested && {
      request: {
        url: requested.url,
        secrets: requested.secret === undefined ? (ofKey?.secret ?? []) : [requested.secret],
      },
    }),
    ...(isWanted && { key: { url: ofKey.url, secrets: ofKey.secret } }),
  };
}

/** The receiver that the request named; undefined if it cannot be decrypted because its key was removed or changed. */
function requestedReceiver(run: RunRecord, config: Pick<LiveConfig, 'cipherOf'>): RequestedWebhook | undefined {
  try {
    return readWebhook(run, config.cipherOf(run.keyId));
  } catch {
    return undefined;
  }
}
