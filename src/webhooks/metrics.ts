import { Counter, Gauge, type Registry } from 'prom-client';
import type { DeliveryStore } from '../store/side-stores/delivery-store.ts';
import type { DelivererParts } from './deliverer.ts';

/** Metrics of deliveries. */
export function countDeliveries(registry: Registry, store: Pick<DeliveryStore, 'count'>): DelivererParts['observe'] {
  const registers = [registry];
  const attempts = new Counter({
    name: 'gateway_webhook_attempts_total',
    help: 'Attempts to deliver the end of a run to a receiver: delivered, retried later, or failed for good.',
    labelNames: ['outcome'],
    registers,
  });
  new Gauge({
    // All processes read it from the store that they share: take one, not the sum.
    aggregator: 'max',
    name: 'gateway_webhooks_waiting',
    help: 'Runs whose end is still to be delivered, runs in progress included; from the store, so the same on every instance.',
    registers,
    async collect() {
      // A store that is away is reported elsewhere.
      await store.count().then(
        (waiting) => this.set(waiting),
        () => this.reset(),
      );
    },
  });
  return (outcome) => attempts.inc({ outcome });
}
