import { linkSignals, sleep } from '../base/abort.ts';
import type { Clock } from '../base/clock.ts';
import { messageOf } from '../base/errors.ts';
import type { RunId } from '../base/ids.ts';
import type { Logger } from '../base/logger.ts';
import { inSpan } from '../base/telemetry/spans.ts';
import type { LiveConfig } from '../config/live-config.ts';
import { readRequest } from '../runs/stored/stored-request.ts';
import type { RunRecord, RunStore } from '../store/run-store.ts';
import type { DeliveryStore } from '../store/side-stores/delivery-store.ts';
import {
  afterAttempt,
  type Deliveries,
  type DeliveryAttempt,
  deliveriesOf,
  giveUp,
  isDue,
  newDelivery,
  nextAttemptAt,
  RECEIVERS,
  type ReceiverName,
} from './delivery.ts';
import { eventOf, type WebhookEvent } from './event.ts';
import { HostLimits } from './host-limits.ts';
import { receiversOf, type WebhookReceiver } from './receivers.ts';
import { createSender, type Sender } from './send.ts';
import { webhookHeaders } from './signature.ts';

/** How often the store is polled for due runs, in milliseconds; the end of a run in this process wakes the deliverer. */
const POLL_MS = 2000;
/** How long a run is leased to this instance, in milliseconds: longer than its receivers may take. An open run is checked this often. */
const LEASE_MS = 60_000;
/** How much of the lease a run may spend waiting for its receiver's host. */
const HOST_WAIT_MS = 45_000;
/** The pause between two deliveries, in milliseconds, so that many due at once do not hold up other work. */
const PACE_MS = 1.5;
/** When a run is retried that could not wait because too many do, in milliseconds. */
const RETRY_SOON_MS = 5000;
/** How long after a run's end its key may be unknown, in milliseconds; after that, nobody is notified. */
const KEY_MISSING_MS = 3_600_000;
/** How many runs are prepared at once, and how many are taken from the store at least. */
const MAX_PREPARING = 64;
const MIN_BATCH = 32;

export interface DelivererParts {
  storage: { runs: Pick<RunStore, 'get' | 'readLast'>; deliveries: DeliveryStore };
  config: Pick<LiveConfig, 'current' | 'keyById' | 'cipherOf'>;
  clock: Clock;
  log: Logger;
  /** Called with the outcome of each attempt. */
  observe(outcome: 'delivered' | 'retried' | 'failed'): void;
}

interface DueDelivery {
  run: RunRecord;
  event: WebhookEvent;
  /** The stored state, and `all`, its deliveries. */
  before: string | undefined;
  all: Deliveries;
  receivers: ReturnType<typeof receiversOf>;
  due: readonly ReceiverName[];
  place: Disposable;
}

/**
 * Notifies receivers of runs that have ended (docs/webhooks.md), at least once each. Due runs are leased from the store, so
 * that one instance at a time delivers each; after an instance dies, others take its runs once the lease expires.
 */
export class Deliverer implements AsyncDisposable {
  readonly #parts: DelivererParts;
  readonly #stopping = new AbortController();
  readonly #sender: Sender;
  readonly #hosts = new HostLimits();
  readonly #inFlight = new Set<Promise<void>>();
  #loop: Promise<void> = Promise.resolve();
  #idle = new AbortController();
  /** How many runs are being prepared, so that it is not known yet whether their hosts have room. */
  #preparing = 0;
  /** Whether the store may have more due runs. */
  #hasMoreDue = false;
  /** When the next delivery may be sent, by `performance.now()`. */
  #nextAt = 0;
  /** Whether the store failed the last time, which is logged once. */
  #isAway = false;

  constructor(parts: DelivererParts) {
    this.#parts = parts;
    this.#sender = createSender({
      allowHosts: () => parts.config.current().webhooks.allow_hosts,
      signal: this.#stopping.signal,
    });
  }

  start(): void {
    this.#loop = this.#poll();
  }

  /** Polls at once, because a run is due. */
  wake(): void {
    this.#idle.abort();
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#stopping.abort(new Error('the gateway stops'));
    await this.#loop;
    await Promise.all(this.#inFlight);
    await this.#sender[Symbol.asyncDispose]();
  }

  async #poll(): Promise<void> {
    const { signal } = this.#stopping;
    while (!signal.aborted) {
      this.#idle = new AbortController();
      const room = this.#hosts.isBusy ? 0 : MAX_PREPARING - this.#preparing;
      const taken = room >= MIN_BATCH ? await this.#takeDue(room) : [];
      const until = performance.now() + HOST_WAIT_MS;
      for (const run of taken) this.#start({ run, until });
      this.#hasMoreDue = room < MIN_BATCH || taken.length === room;
      if (room >= MIN_BATCH && taken.length === room) continue;
      using wake = linkSignals([signal, this.#idle.signal]);
      await sleep(POLL_MS, { signal: wake.signal }).catch(() => {});
    }
  }

  async #takeDue(limit: number): Promise<RunId[]> {
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

  /** `until`: see `HostLimits`. */
  #start(taken: { run: RunId; until: number }): void {
    const work = this.#deliver(taken).catch((thrown: unknown) => {
      if (!this.#stopping.signal.aborted) {
        const about = { run: taken.run, err: messageOf(thrown) };
        this.#parts.log.warn(about, 'a webhook was not delivered; retrying');
      }
    });
    const settled = work.finally(() => {
      this.#inFlight.delete(settled);
      if (this.#stopping.signal.aborted) return;
      for (const waiting of this.#hosts.next()) this.#start(waiting);
      if (this.#hasMoreDue && this.#preparing <= MAX_PREPARING - MIN_BATCH && !this.#hosts.isBusy) this.wake();
    });
    this.#inFlight.add(settled);
  }

  async #deliver(taken: { run: RunId; until: number }): Promise<void> {
    this.#preparing += 1;
    const due = await this.#prepare(taken).finally(() => {
      this.#preparing -= 1;
    });
    if (due) await this.#sendAll(due);
  }

  /** Loads what to deliver and acquires its hosts; undefined if there is nothing to deliver now. */
  async #prepare(taken: { run: RunId; until: number }): Promise<DueDelivery | undefined> {
    const { run: id } = taken;
    const { config, clock, storage } = this.#parts;
    const { runs, deliveries: store } = storage;
    const run = await runs.get(id);
    if (!run) {
      await store.remove(id);
      return;
    }
    const event = await eventOf(run, runs);
    if (!event) return;
    const before = await store.get(id);
    const agedMs = clock.now() - (run.endedAt ?? 0);
    if (!config.keyById(run.keyId) && agedMs < KEY_MISSING_MS) return await this.#postpone(run, { before, agedMs });
    const receivers = receiversOf(run, event.type, config);
    const all = deliveriesOf({ stored: before, receivers }, clock.now());
    const due = RECEIVERS.filter((name) => all[name] && isDue(all[name], clock.now()));
    const hosts = due.flatMap((name) => receivers[name] ?? []).map(({ url }) => new URL(url).host);
    const place = this.#hosts.acquire(hosts, { ...taken, user: run.user });
    if (place === 'soon') await store.schedule(id, { dueInMs: RETRY_SOON_MS });
    if (typeof place === 'string') return;
    return { run, event, before, receivers, all, due, place };
  }

  /**
   * Checks again later, ever more rarely, because the run's key is unknown here, and with it the receivers: the key was
   * removed, or is not in force on this instance yet.
   */
  async #postpone(
    run: RunRecord,
    { before, agedMs }: { before: string | undefined; agedMs: number },
  ): Promise<undefined> {
    const { config, storage } = this.#parts;
    const dueInMs = Math.max(RETRY_SOON_MS, agedMs);
    const keepMs = config.current().store.retentionMs;
    await storage.deliveries.put(run.id, { before, state: before ?? '{}', dueInMs, keepMs });
  }

  async #sendAll({ run, event, before, receivers, all, due, place }: DueDelivery): Promise<void> {
    using _ = place;
    await this.#pace();
    const { config, clock, storage } = this.#parts;
    const keepMs = config.current().store.retentionMs;
    const next = { ...all };
    const attempts = due.map(async (name) => {
      const [receiver, delivery] = [receivers[name], all[name] ?? newDelivery(clock.now())];
      next[name] = receiver ? afterAttempt(delivery, await this.#send(run, event, receiver)) : giveUp(delivery);
    });
    await Promise.all(attempts);
    if (this.#stopping.signal.aborted) return;
    const nextAt = nextAttemptAt(next);
    const dueInMs = nextAt === undefined ? undefined : Math.max(0, nextAt - clock.now());
    const isPut = await storage.deliveries.put(run.id, { before, state: JSON.stringify(next), dueInMs, keepMs });
    // Another delivery was requested meanwhile.
    if (!isPut) await storage.deliveries.schedule(run.id, { dueInMs: 0 });
  }

  /** Waits until the next delivery may be sent. Rejects when the gateway stops. */
  async #pace(): Promise<void> {
    const now = performance.now();
    const at = Math.max(now, this.#nextAt);
    this.#nextAt = at + PACE_MS;
    if (at > now) await sleep(at - now, { signal: this.#stopping.signal });
  }

  /** Sends an event in a span of its own, in the trace of the request that submitted the run. */
  #send(run: RunRecord, event: WebhookEvent, { url, secrets }: WebhookReceiver): Promise<DeliveryAttempt> {
    const attributes = { 'server.address': new URL(url).hostname, 'research_gateway.run.id': run.id };
    const root = { trace: readRequest(run).trace, contents: false };
    return inSpan({ name: `webhook ${event.type}`, kind: 'client', attributes, root }, async (span) => {
      const { clock, observe } = this.#parts;
      const body = JSON.stringify(event);
      const now = clock.now();
      const signed = webhookHeaders({ id: event.id, timestamp: Math.floor(now / 1000), body }, secrets);
      const headers = { 'content-type': 'application/json', ...span.trace, ...signed };
      const attempt = await this.#sender.send(url, { headers, body }, now);
      if (attempt.status !== null) this.#hosts.noteAnswer(new URL(url).host);
      const outcome = afterAttempt(newDelivery(now), attempt).status;
      if (!this.#stopping.signal.aborted) observe(outcome === 'pending' ? 'retried' : outcome);
      if (attempt.status !== null) span.set({ 'http.response.status_code': attempt.status });
      if (outcome !== 'delivered') span.fail(attempt.error ?? String(attempt.status));
      return attempt;
    });
  }
}
