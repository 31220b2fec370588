import { linkSignals, sleep } from '../base/abort.ts';
import type { Clock } from '../base/clock.ts';
import { messageOf } from '../base/errors.ts';
import { FairSemaphore } from '../base/fair-semaphore.ts';
import type { RunId } from '../base/ids.ts';
import type { Logger } from '../base/logger.ts';
import { inSpan } from '../base/telemetry/spans.ts';
import type { LiveConfig } from '../config/live-config.ts';
import { readTrace } from '../runs/stored/stored-request.ts';
import type { DeliveryStore } from '../store/beside/delivery-store.ts';
import type { RunRecord, RunStore } from '../store/run-store.ts';
import { type Attempt, afterAttempt, firstDeliveries, givenUp, newDelivery, nextOf, RECEIVERS, readDeliveries } from './delivery.ts';
import { eventOf, type WebhookEvent } from './event.ts';
import { type Receiver, receiversOf } from './receivers.ts';
import { createSender, type Sender } from './send.ts';
import { webhookHeaders } from './signature.ts';

/** How often it is looked for runs that are due, in milliseconds; those that end here are not waited for. */
const LOOK_MS = 2000;
/** How long a run is this instance's alone, in milliseconds: longer than its receivers may take. One that is open is looked at this often. */
const LEASE_MS = 60_000;
/** Runs under way at once, and those of them that one host may hold up. */
const AT_ONCE = 64;
const OF_ONE_HOST = 8;

export interface DelivererParts {
  storage: { runs: Pick<RunStore, 'get' | 'readLast'>; deliveries: DeliveryStore };
  config: Pick<LiveConfig, 'current' | 'keyById' | 'encryptionKeyOf'>;
  clock: Clock;
  log: Logger;
  /** Called with what became of each attempt. */
  observe(outcome: 'delivered' | 'retried' | 'failed'): void;
}

/**
 * Tells receivers of runs that have ended (docs/webhooks.md), at least once each. A run is taken from the store for a
 * while, so that it is told by one instance at a time; what an instance that dies had taken is taken again.
 */
export class Deliverer implements AsyncDisposable {
  readonly #parts: DelivererParts;
  readonly #stopping = new AbortController();
  readonly #sender: Sender;
  readonly #runs = new FairSemaphore({ name: 'webhooks', permits: AT_ONCE, ofOwner: OF_ONE_HOST, full: tooMany });
  readonly #underWay = new Set<Promise<void>>();
  readonly #loop: Promise<void>;
  #waiting = new AbortController();
  /** The store did not answer the last time: it was said once. */
  #isAway = false;

  constructor(parts: DelivererParts) {
    this.#parts = parts;
    this.#sender = createSender({
      allowHosts: () => parts.config.current().webhooks.allow_hosts,
      signal: this.#stopping.signal,
    });
    this.#loop = this.#look();
  }

  /** There is a run that is due. */
  wake(): void {
    this.#waiting.abort();
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#stopping.abort(new Error('the gateway stops'));
    await this.#loop;
    await Promise.all(this.#underWay);
    await this.#sender[Symbol.asyncDispose]();
  }

  async #look(): Promise<void> {
    const { signal } = this.#stopping;
    while (!signal.aborted) {
      this.#waiting = new AbortController();
      const room = AT_ONCE - this.#underWay.size;
      const taken = room > 0 ? await this.#take(room) : [];
      for (const run of taken) this.#begin(run);
      if (room > 0 && taken.length === room) continue;
      using either = linkSignals([signal, this.#waiting.signal]);
      await sleep(LOOK_MS, { signal: either.signal }).catch(() => {});
    }
  }

  async #take(limit: number): Promise<RunId[]> {
    try {
      const due = await this.#parts.storage.deliveries.takeDue({ limit, leaseMs: LEASE_MS });
      this.#isAway = false;
      return due;
    } catch (thrown) {
      if (!this.#isAway) this.#parts.log.warn({ err: messageOf(thrown) }, 'webhooks cannot be delivered now');
      this.#isAway = true;
      return [];
    }
  }

  #begin(id: RunId): void {
    const work = this.#deliver(id).catch((thrown: unknown) => {
      if (!this.#stopping.signal.aborted) {
        this.#parts.log.warn({ run: id, err: messageOf(thrown) }, 'a webhook was not delivered, it is tried again');
      }
    });
    const settled = work.finally(() => {
      const wasFull = this.#underWay.size >= AT_ONCE;
      this.#underWay.delete(settled);
      if (wasFull) this.wake();
    });
    this.#underWay.add(settled);
  }

  async #deliver(id: RunId): Promise<void> {
    const { config, clock, storage } = this.#parts;
    const { runs, deliveries: store } = storage;
    const keepMs = config.current().store.retentionMs;
    const run = await runs.get(id);
    if (!run) return await store.remove(id);
    const event = await eventOf(run, runs);
    if (!event) return;
    const before = await store.get(id);
    const receivers = receiversOf(run, event.type, config);
    const all = (before !== undefined && readDeliveries(before)) || firstDeliveries(receivers, clock.now());
    const due = RECEIVERS.filter((name) => (all[name]?.nextAt ?? Number.POSITIVE_INFINITY) <= clock.now());
    using places = this.#placesFor(due.flatMap((name) => receivers[name] ?? []));
    // It is looked at again when it is not this instance's alone any more.
    if (!places) return;
    const next = { ...all };
    const attempts = due.map(async (name) => {
      const [receiver, delivery] = [receivers[name], all[name] ?? newDelivery(clock.now())];
      next[name] = receiver ? afterAttempt(delivery, await this.#send(run, event, receiver)) : givenUp(delivery);
    });
    await Promise.all(attempts);
    if (this.#stopping.signal.aborted) return;
    const nextAt = nextOf(next);
    const dueInMs = nextAt === undefined ? undefined : Math.max(0, nextAt - clock.now());
    const isPut = await store.put(id, { before, state: JSON.stringify(next), dueInMs, keepMs });
    // Somebody asked for another delivery meanwhile.
    if (!isPut) await store.expect(id, { dueInMs: 0 });
  }

  /** Places at the hosts of all of these, or undefined where one has enough to do. */
  #placesFor(receivers: readonly Receiver[]): Disposable | undefined {
    using places = new DisposableStack();
    for (const { url } of receivers) {
      const place = this.#runs.tryTake(new URL(url).host);
      if (!place) return undefined;
      places.use(place);
    }
    return places.move();
  }

  /** In a span of its own, in the trace of the request that started the run. */
  #send(run: RunRecord, event: WebhookEvent, { url, secrets }: Receiver): Promise<Attempt> {
    const attributes = { 'server.address': new URL(url).hostname, 'research_gateway.run.id': run.id };
    const root = { trace: readTrace(run), contents: false };
    return inSpan({ name: `webhook ${event.type}`, kind: 'client', attributes, root }, async (span) => {
      const { clock, observe } = this.#parts;
      const body = JSON.stringify(event);
      const now = clock.now();
      const signed = webhookHeaders({ id: event.id, timestamp: Math.floor(now / 1000), body }, secrets);
      const headers = { 'content-type': 'application/json', ...span.trace, ...signed };
      const attempt = await this.#sender.send(url, { headers, body }, now);
      const told = afterAttempt(newDelivery(now), attempt).status;
      if (!this.#stopping.signal.aborted) observe(told === 'pending' ? 'retried' : told);
      if (attempt.status !== null) span.set({ 'http.response.status_code': attempt.status });
      if (told !== 'delivered') span.fail(attempt.error ?? String(attempt.status));
      return attempt;
    });
  }
}

function tooMany(): Error {
  return new Error('too many webhooks are being delivered');
}
