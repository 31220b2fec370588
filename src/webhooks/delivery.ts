import { z } from 'zod';
import { parseJson } from '../base/json.ts';

const attempt = z.looseObject({
  /** Unix milliseconds. */
  at: z.number(),
  /** HTTP status of the answer; null if there was none. */
  status: z.int().nullable(),
  /** Why there was no answer, in a word. */
  error: z.string().nullable(),
});
export type DeliveryAttempt = z.output<typeof attempt>;

const delivery = z.looseObject({
  status: z.enum(['pending', 'delivered', 'failed']),
  /** The latest ones, oldest first. */
  attempts: z.array(attempt),
  /** How many attempts have failed since the delivery was last requested. */
  failures: z.int(),
  /** When the next attempt is due, in Unix milliseconds; null if there is none. */
  nextAt: z.number().nullable(),
});
/** The state of delivering a run's end to one receiver. Stored as JSON. */
export type Delivery = z.output<typeof delivery>;

/** Who is notified of a run's end: the receiver that its request names, and that of its key. */
export const RECEIVERS = ['request', 'key'] as const;
export type ReceiverName = (typeof RECEIVERS)[number];

const deliveries = z.partialRecord(z.enum(RECEIVERS), delivery);
/** The deliveries of a run by receiver, as a `DeliveryStore` holds them in JSON. */
export type Deliveries = z.output<typeof deliveries>;

/** Parses stored deliveries; undefined if they cannot be read. */
export function readDeliveries(json: string): Deliveries | undefined {
  return deliveries.safeParse(parseJson(json)).data;
}

/** The delivery to each receiver; if nothing is stored yet, all are due now. */
export function deliveriesOf(
  { stored, receivers }: { stored: string | undefined; receivers: Partial<Record<ReceiverName, unknown>> },
  now: number,
): Deliveries {
  const parsed = stored === undefined ? undefined : readDeliveries(stored);
  return parsed && Object.keys(parsed).length > 0 ? parsed : firstDeliveries(receivers, now);
}

function firstDeliveries(receivers: Partial<Record<ReceiverName, unknown>>, now: number): Deliveries {
  const named = RECEIVERS.filter((name) => receivers[name] !== undefined);
  return Object.fromEntries(named.map((name) => [name, newDelivery(now)]));
}

const SECOND = 1000;
const MINUTE = 60 * SECOND;
const HOUR = 60 * MINUTE;
/** The delay after each failure, in milliseconds (docs/webhooks.md); after the last one there is no further attempt. */
const RETRY_DELAYS = [5 * SECOND, 30 * SECOND, 2 * MINUTE, 10 * MINUTE, HOUR, 3 * HOUR, 6 * HOUR, 12 * HOUR];
const MAX_STORED_ATTEMPTS = 20;
const HTTP_GONE = 410;

/** What the clocks of instances may differ by, in milliseconds. */
const CLOCKS_DIFFER_MS = MINUTE;

/** Whether a delivery is to be attempted now. One that waits longer than its delay was timed by a clock that ran ahead. */
export function isDue({ nextAt, failures }: Delivery, now: number): boolean {
  const delay = RETRY_DELAYS[failures - 1] ?? 0;
  return nextAt !== null && (nextAt <= now || nextAt > now + delay + CLOCKS_DIFFER_MS);
}

/** A delivery that is due now. */
export function newDelivery(now: number): Delivery {
  return { status: 'pending', attempts: [], failures: 0, nextAt: now };
}

/** The delivery after one more attempt. */
export function afterAttempt(before: Delivery, attempt: DeliveryAttempt): Delivery {
  const attempts = [...before.attempts, attempt].slice(-MAX_STORED_ATTEMPTS);
  const { status } = attempt;
  if (status !== null && status >= 200 && status < 300) {
    return { ...before, status: 'delivered', attempts, nextAt: null };
  }
  const delay = status === HTTP_GONE ? undefined : RETRY_DELAYS[before.failures];
  const failures = before.failures + 1;
  if (delay === undefined) return giveUp({ ...before, attempts, failures });
  return { ...before, attempts, failures, nextAt: attempt.at + delay };
}

/** The delivery as failed for good. */
export function giveUp(before: Delivery): Delivery {
  return { ...before, status: 'failed', nextAt: null };
}

/** The delivery, due now and with all its attempts again. */
export function restartDelivery(before: Delivery, now: number): Delivery {
  return { ...before, status: 'pending', failures: 0, nextAt: now };
}

/** When the next attempt of any of these is due, in Unix milliseconds. */
export function nextAttemptAt(all: Deliveries): number | undefined {
  const times = Object.values(all).flatMap(({ nextAt }) => nextAt ?? []);
  return times.length > 0 ? Math.min(...times) : undefined;
}
