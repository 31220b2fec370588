import type { Registry } from 'prom-client';
import { toSeconds } from '../base/clock.ts';
import { GatewayError } from '../base/errors.ts';
import { publicId, type RunId } from '../base/ids.ts';
import { withoutQuery } from '../base/text.ts';
import type { WebhookDelivery } from '../protocol/webhook-delivery.ts';
import { notifiesWebhooks } from '../runs/stored/stored-request.ts';
import type { RunRecord } from '../store/run-store.ts';
import { Deliverer, type DelivererParts } from './deliverer.ts';
import {
  type Deliveries,
  type Delivery,
  deliveriesOf,
  RECEIVERS,
  type ReceiverName,
  readDeliveries,
  restartDelivery,
} from './delivery.ts';
import { eventOf } from './event.ts';
import { countDeliveries } from './metrics.ts';
import { receiversOf } from './receivers.ts';

/** How often a change is attempted while others change the same deliveries. */
const MAX_ATTEMPTS = 10;
const ID = /^whd_((?:resp|task)_[\da-f-]{36})_(request|key)$/;

/** The webhooks of runs: delivers them, lists deliveries, and repeats them. */
export class Webhooks implements AsyncDisposable {
  readonly #parts: DelivererParts;
  readonly #deliverer: Deliverer;

  constructor({ registry, ...parts }: Omit<DelivererParts, 'observe'> & { registry: Registry }) {
    this.#parts = { ...parts, observe: countDeliveries(registry, parts.storage.deliveries) };
    this.#deliverer = new Deliverer(this.#parts);
  }

  /** Starts delivering. Keys must be loaded by now, because they name receivers. */
  start(): void {
    this.#deliverer.start();
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.#deliverer[Symbol.asyncDispose]();
  }

  /** Delivers the end of a run. @throws GatewayError `store_unavailable`: then it is delivered up to a minute later. */
  async deliverEnd(run: RunId): Promise<void> {
    await this.#parts.storage.deliveries.schedule(run, { dueInMs: 0 });
    this.#deliverer.wake();
  }

  /** The deliveries of a run; none before its end. The caller must be allowed to see the run. */
  async listDeliveries(run: RunRecord): Promise<WebhookDelivery[]> {
    const { config, clock, storage } = this.#parts;
    const { runs, deliveries: store } = storage;
    const event = notifiesWebhooks(run) ? await eventOf(run, runs) : undefined;
    if (!event) return [];
    const receivers = receiversOf(run, event.type, config);
    const stored = await store.get(run.id);
    const all = deliveriesOf({ stored, receivers }, clock.now());
    const describe = (name: ReceiverName, delivery: Delivery): WebhookDelivery => ({
      id: deliveryId(run, name),
      object: 'webhook.delivery',
      run: event.data.id,
      receiver: name,
      url: visibleUrl(name, receivers[name]?.url ?? ''),
      event: { id: event.id, type: event.type },
      status: delivery.status,
      attempts: delivery.attempts.map(({ at, status: status_code, error }) => {
        return { created_at: toSeconds(at), status_code, error };
      }),
      next_attempt_at: delivery.nextAt === null ? null : toSeconds(delivery.nextAt),
    });
    return RECEIVERS.flatMap((name) => (all[name] ? [describe(name, all[name])] : []));
  }

  /** Delivers to a receiver again, with all attempts. Resolves to the delivery. @throws GatewayError `not_found`. */
  async redeliver(run: RunRecord, receiver: ReceiverName): Promise<WebhookDelivery> {
    const { clock, config, storage } = this.#parts;
    const store = storage.deliveries;
    const keepMs = config.current().store.retentionMs;
    for (let tries = 0; tries < MAX_ATTEMPTS; tries++) {
      const [before, current] = [await store.get(run.id), await this.listDeliveries(run)];
      const all: Deliveries = (before !== undefined && readDeliveries(before)) || {};
      const found = current.find((delivery) => delivery.receiver === receiver);
      if (!found) throw noDelivery(deliveryId(run, receiver));
      const known = all[receiver];
      if (!known) {
        // The first delivery is under way, or the instance that had taken it is gone.
        await this.deliverEnd(run.id);
        return found;
      }
      const state = JSON.stringify({ ...all, [receiver]: restartDelivery(known, clock.now()) });
      if (!(await store.put(run.id, { before, state, dueInMs: 0, keepMs }))) continue;
      this.#deliverer.wake();
      return (await this.listDeliveries(run)).find((delivery) => delivery.receiver === receiver) ?? found;
    }
    throw new GatewayError('overloaded', 'This delivery is being made. Try again.', { retryAfterMs: 1000 });
  }
}

/** Clients see their own URL; of the operator's only the origin, because its path may hold a secret. */
function visibleUrl(name: ReceiverName, url: string): string | null {
  return name === 'request' ? withoutQuery(url) : (URL.parse(url)?.origin ?? null);
}

/** The run, by its public id, and the receiver that a delivery's id names. @throws GatewayError `not_found`. */
export function parseDeliveryId(id: string): { run: string; receiver: ReceiverName } {
  const [, run, name] = ID.exec(id) ?? [];
  const receiver = RECEIVERS.find((known) => known === name);
  if (run === undefined || !receiver) throw noDelivery(id);
  return { run, receiver };
}

function deliveryId({ api, id }: RunRecord, receiver: ReceiverName): string {
  return `whd_${publicId(api, id)}_${receiver}`;
}

function noDelivery(id: string): GatewayError {
  return new GatewayError('not_found', `There is no delivery ${id.slice(0, 80)}.`);
}
