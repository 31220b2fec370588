import type { LiveConfig } from '../config/live-config.ts';
import type { RequestedWebhook } from '../protocol/requests/requested-webhook.ts';
import { readWebhook } from '../runs/stored/stored-request.ts';
import type { RunRecord } from '../store/run-store.ts';
import type { ReceiverName } from './delivery.ts';
import type { WebhookEventType } from './event.ts';

/** Where the end of a run is told, and what signs it. */
export interface WebhookReceiver {
  url: string;
  /** None: it is not signed. */
  secrets: readonly string[];
}

/**
 * Who is told of an event of this run. The key's receiver is that of now, so that a secret that was changed signs at once;
 * a receiver of a request that has no secret of its own gets the signature of the key's.
 */
export function receiversOf(
  run: RunRecord,
  type: WebhookEventType,
  config: Pick<LiveConfig, 'keyById' | 'cipherOf'>,
): Partial<Record<ReceiverName, WebhookReceiver>> {
  const ofKey = config.keyById(run.keyId)?.webhook;
  const requested = requestedIn(run, config);
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

/** Whom the request named; nobody where its key was removed or has another secret: what is encrypted with it is lost. */
function requestedIn(run: RunRecord, config: Pick<LiveConfig, 'cipherOf'>): RequestedWebhook | undefined {
  try {
    return readWebhook(run, config.cipherOf(run.keyId));
  } catch {
    return undefined;
  }
}
