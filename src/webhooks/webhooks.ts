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
  askedAgain,
  type Deliveries,
  type Delivery,
  deliveriesOf,
  RECEIVERS,
  type ReceiverName,
  readDeliveries,
} from './delivery.ts';
import { eventOf } from './event.ts';
import { countDeliveries } from './metrics.ts';
import { receiversOf } from './receivers.ts';

/** How often a change is tried that somebody else is making at the same time. */
const MOST_TRIES = 10;
const ID = /^whd_((?:resp|task)_[\da-f-]{36})_(request|key)$/;

/** What is told of runs when they end, and to whom. */
export class Webhooks implements AsyncDisposable {
  readonly #parts: DelivererParts;
  readonly #deliverer: Deliverer;

  constructor({ registry, ...parts }: Omit<DelivererParts, 'observe'> & { registry: Registry }) {
    this.#parts = { ...parts, observe: countDeliveries(registry, parts.storage.deliveries) };
    this.#deliverer = new Deliverer(this.#parts);
  }

  /** Tells from now on. Keys must be known by now: who a run tells stands in its key. */
  start(): void {
    this.#deliverer.start();
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.#deliverer[Symbol.asyncDispose]();
  }

  /** A run that tells has ended. @throws GatewayError `store_unavailable`: then it is told up to a minute later. */
  async ended(run: RunId): Promise<void> {
    await this.#parts.storage.deliveries.expect(run, { dueInMs: 0 });
    this.#deliverer.wake();
  }

  /** The deliveries of a run that its caller may see; none before its end. */
  async of(run: RunRecord): Promise<WebhookDelivery[]> {
    const { config, clock, storage } = this.#parts;
    const { runs, deliveries: store } = storage;
    const event = notifiesWebhooks(run) ? await eventOf(run, runs) : undefined;
    if (!event) return [];
    const receivers = receiversOf(run, event.type, config);
    const stored = await store.get(run.id);
    const all = deliveriesOf({ stored, receivers }, clock.now());
    const shown = (name: ReceiverName, delivery: Delivery): WebhookDelivery => ({
      id: deliveryId(run, name),
      object: 'webhook.delivery',
      run: event.data.id,
      receiver: name,
      url: shownAddress(name, receivers[name]?.url ?? ''),
      event: { id: event.id, type: event.type },
      status: delivery.status,
      attempts: delivery.attempts.map(({ at, status: status_code, error }) => {
        return { created_at: toSeconds(at), status_code, error };
      }),
      next_attempt_at: delivery.nextAt === null ? null : toSeconds(delivery.nextAt),
    });
    return RECEIVERS.flatMap((name) => (all[name] ? [shown(name, all[name])] : []));
  }

  /** Tells a receiver again, from the first try on. The same delivery, as it is then. @throws GatewayError `not_found`. */
  async redeliver(run: RunRecord, receiver: ReceiverName): Promise<WebhookDelivery> {
    const { clock, config, storage } = this.#parts;
    const store = storage.deliveries;
    const keepMs = config.current().store.retentionMs;
    for (let tries = 0; tries < MOST_TRIES; tries++) {
      const [before, shown] = [await store.get(run.id), await this.of(run)];
      const all: Deliveries = (before !== undefined && readDeliveries(before)) || {};
      const found = shown.find((delivery) => delivery.receiver === receiver);
      if (!found) throw noDelivery(deliveryId(run, receiver));
      const known = all[receiver];
      if (!known) {
        // It is under way for the first time, or whoever had taken it is gone.
        await this.ended(run.id);
        return found;
      }
      const state = JSON.stringify({ ...all, [receiver]: askedAgain(known, clock.now()) });
      if (!(await store.put(run.id, { before, state, dueInMs: 0, keepMs }))) continue;
      this.#deliverer.wake();
      return (await this.of(run)).find((delivery) => delivery.receiver === receiver) ?? found;
    }
    throw new GatewayError('overloaded', 'This delivery is being made. Try again.', { retryAfterMs: 1000 });
  }
}

/** A client knows its own address; of the operator's it learns no more than where it is: paths may hold secrets, too. */
function shownAddress(name: ReceiverName, url: string): string | null {
  return name === 'request' ? withoutQuery(url) : (URL.parse(url)?.origin ?? null);
}

/** What the id of a delivery names, the run as clients know it. @throws GatewayError `not_found`. */
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
