import { linkSignals, sleep } from '../base/abort.ts';
import type { Clock } from '../base/clock.ts';
import { messageOf } from '../base/errors.ts';
import type { RunId } from '../base/ids.ts';
import type { Logger } from '../base/logger.ts';
import { inSpan } from '../base/telemetry/spans.ts';
import type { LiveConfig } from '../config/live-config.ts';
import { readRequest } from '../runs/stored/stored-request.ts';
import type { DeliveryStore } from '../store/beside/delivery-store.ts';
import type { RunRecord, RunStore } from '../store/run-store.ts';
import {
  afterAttempt,
  type Deliveries,
  type DeliveryAttempt,
  deliveriesOf,
  givenUp,
  newDelivery,
  nextOf,
  RECEIVERS,
  type ReceiverName,
} from './delivery.ts';
import { eventOf, type WebhookEvent } from './event.ts';
import { Hosts } from './hosts.ts';
import { receiversOf, type WebhookReceiver } from './receivers.ts';
import { createSender, type Sender } from './send.ts';
import { webhookHeaders } from './signature.ts';

/** How often it is looked for runs that are due, in milliseconds; those that end here are not waited for. */
const LOOK_MS = 2000;
/** How long a run is this instance's alone, in milliseconds: longer than its receivers may take. One that is open is looked at this often. */
const LEASE_MS = 60_000;
/** Of that, how long one waits for its receiver to have room. */
const WAITING_MS = 45_000;
/** The pause between two that are sent, in milliseconds: of many that are due at once, what else the process does is not held up. */
const PACE_MS = 1.5;
/** When one is looked at again that cannot wait, since too many do, in milliseconds. */
const SOON_MS = 5000;
/** A run whose key is not known for so long after its end, in milliseconds, tells nobody. */
const KEY_MISSING_MS = 3_600_000;
/** Runs that are looked at at once, and how many are taken at least. */
const AT_ONCE = 64;
const FEWEST = 32;

export interface DelivererParts {
  storage: { runs: Pick<RunStore, 'get' | 'readLast'>; deliveries: DeliveryStore };
  config: Pick<LiveConfig, 'current' | 'keyById' | 'cipherOf'>;
  clock: Clock;
  log: Logger;
  /** Called with what became of each attempt. */
  observe(outcome: 'delivered' | 'retried' | 'failed'): void;
}

interface Due {
  run: RunRecord;
  event: WebhookEvent;
  /** As it is stored, and what that means. */
  before: string | undefined;
  all: Deliveries;
  receivers: ReturnType<typeof receiversOf>;
  due: readonly ReceiverName[];
  place: Disposable;
}

/**
 * Tells receivers of runs that have ended (docs/webhooks.md), at least once each. A run is taken from the store for a
 * while, so that it is told by one instance at a time; what an instance that dies had taken is taken again.
 */
export class Deliverer implements AsyncDisposable {
  readonly #parts: DelivererParts;
  readonly #stopping = new AbortController();
  readonly #sender: Sender;
  readonly #hosts = new Hosts();
  readonly #underWay = new Set<Promise<void>>();
  #loop: Promise<void> = Promise.resolve();
  #waiting = new AbortController();
  /** Runs of which it is not known yet whether their hosts have room. */
  #looking = 0;
  /** Whether runs were left in the store that are due. */
  #mayBeMore = false;
  /** When the next may be sent, by `performance.now()`. */
  #nextAt = 0;
  /** The store did not answer the last time: it was said once. */
  #isAway = false;

  constructor(parts: DelivererParts) {
    this.#parts = parts;
    this.#sender = createSender({
      allowHosts: () => parts.config.current().webhooks.allow_hosts,
      signal: this.#stopping.signal,
    });
  }

  start(): void {
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
      const room = this.#hosts.isBusy ? 0 : AT_ONCE - this.#looking;
      const taken = room >= FEWEST ? await this.#take(room) : [];
      const until = performance.now() + WAITING_MS;
      for (const run of taken) this.#begin({ run, until });
      this.#mayBeMore = room < FEWEST || taken.length === room;
      if (room >= FEWEST && taken.length === room) continue;
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

  /** `until`: see `Hosts`. */
  #begin(taken: { run: RunId; until: number }): void {
    const work = this.#deliver(taken).catch((thrown: unknown) => {
      if (!this.#stopping.signal.aborted) {
        const about = { run: taken.run, err: messageOf(thrown) };
        this.#parts.log.warn(about, 'a webhook was not delivered, it is tried again');
      }
    });
    const settled = work.finally(() => {
      this.#underWay.delete(settled);
      if (this.#stopping.signal.aborted) return;
      for (const waiting of this.#hosts.next()) this.#begin(waiting);
      if (this.#mayBeMore && this.#looking <= AT_ONCE - FEWEST && !this.#hosts.isBusy) this.wake();
    });
    this.#underWay.add(settled);
  }

  async #deliver(taken: { run: RunId; until: number }): Promise<void> {
    this.#looking += 1;
    const due = await this.#lookAt(taken).finally(() => {
      this.#looking -= 1;
    });
    if (due) await this.#tell(due);
  }

  /** What is to be told now, with its place; undefined where it is nothing, or not now. */
  async #lookAt(taken: { run: RunId; until: number }): Promise<Due | undefined> {
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
    if (!config.keyById(run.keyId) && agedMs < KEY_MISSING_MS) return await this.#keep(run, { before, agedMs });
    const receivers = receiversOf(run, event.type, config);
    const all = deliveriesOf({ stored: before, receivers }, clock.now());
    const due = RECEIVERS.filter((name) => (all[name]?.nextAt ?? Number.POSITIVE_INFINITY) <= clock.now());
    const told = due.flatMap((name) => receivers[name] ?? []).map(({ url }) => new URL(url).host);
    const place = this.#hosts.begin(told, taken);
    if (place === 'soon') await store.expect(id, { dueInMs: SOON_MS });
    if (typeof place === 'string') return;
    return { run, event, before, receivers, all, due, place };
  }

  /**
   * Its key is not known here, and so whom it tells is not: the key was removed, or is not in force on this instance yet. It
   * is looked at again, ever more rarely.
   */
  async #keep(run: RunRecord, { before, agedMs }: { before: string | undefined; agedMs: number }): Promise<undefined> {
    const { config, storage } = this.#parts;
    const dueInMs = Math.max(SOON_MS, agedMs);
    const keepMs = config.current().store.retentionMs;
    await storage.deliveries.put(run.id, { before, state: before ?? '{}', dueInMs, keepMs });
  }

  async #tell({ run, event, before, receivers, all, due, place }: Due): Promise<void> {
    using _ = place;
    await this.#turn();
    const { config, clock, storage } = this.#parts;
    const keepMs = config.current().store.retentionMs;
    const next = { ...all };
    const attempts = due.map(async (name) => {
      const [receiver, delivery] = [receivers[name], all[name] ?? newDelivery(clock.now())];
      next[name] = receiver ? afterAttempt(delivery, await this.#send(run, event, receiver)) : givenUp(delivery);
    });
    await Promise.all(attempts);
    if (this.#stopping.signal.aborted) return;
    const nextAt = nextOf(next);
    const dueInMs = nextAt === undefined ? undefined : Math.max(0, nextAt - clock.now());
    const isPut = await storage.deliveries.put(run.id, { before, state: JSON.stringify(next), dueInMs, keepMs });
    // Somebody asked for another delivery meanwhile.
    if (!isPut) await storage.deliveries.expect(run.id, { dueInMs: 0 });
  }

  /** Waits until one more may be sent. Rejects when the gateway stops. */
  async #turn(): Promise<void> {
    const now = performance.now();
    const at = Math.max(now, this.#nextAt);
    this.#nextAt = at + PACE_MS;
    if (at > now) await sleep(at - now, { signal: this.#stopping.signal });
  }

  /** In a span of its own, in the trace of the request that started the run. */
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
      if (attempt.status !== null) this.#hosts.answered(new URL(url).host);
      const told = afterAttempt(newDelivery(now), attempt).status;
      if (!this.#stopping.signal.aborted) observe(told === 'pending' ? 'retried' : told);
      if (attempt.status !== null) span.set({ 'http.response.status_code': attempt.status });
      if (told !== 'delivered') span.fail(attempt.error ?? String(attempt.status));
      return attempt;
    });
  }
}
