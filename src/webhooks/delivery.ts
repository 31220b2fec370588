import { z } from 'zod';
import { parseJson } from '../base/json.ts';

const attempt = z.looseObject({
  /** Unix milliseconds. */
  at: z.number(),
  /** Of the answer; null where there was none. */
  status: z.int().nullable(),
  /** Why there was none, in a word. */
  error: z.string().nullable(),
});
export type DeliveryAttempt = z.output<typeof attempt>;

const delivery = z.looseObject({
  status: z.enum(['pending', 'delivered', 'failed']),
  /** The last ones, oldest first. */
  attempts: z.array(attempt),
  /** How many have failed since it was last asked for. */
  failures: z.int(),
  /** When it is tried next, in Unix milliseconds; null where it is not. */
  nextAt: z.number().nullable(),
});
/** How far one receiver is with the end of a run. Stored as JSON. */
export type Delivery = z.output<typeof delivery>;

/** Who is told of a run: the receiver that its request names, and that of its key. */
export const RECEIVERS = ['request', 'key'] as const;
export type ReceiverName = (typeof RECEIVERS)[number];

const deliveries = z.partialRecord(z.enum(RECEIVERS), delivery);
/** What a store keeps of a run (`DeliveryStore`), as JSON: its deliveries by receiver. */
export type Deliveries = z.output<typeof deliveries>;

/** What was stored; undefined where it cannot be read. */
export function readDeliveries(json: string): Deliveries | undefined {
  return deliveries.safeParse(parseJson(json)).data;
}

/** How far each receiver is; where nothing is stored of any, all are to be told now. */
export function deliveriesOf(
  { stored, receivers }: { stored: string | undefined; receivers: Partial<Record<ReceiverName, unknown>> },
  now: number,
): Deliveries {
  const known = stored === undefined ? undefined : readDeliveries(stored);
  return known && Object.keys(known).length > 0 ? known : firstDeliveries(receivers, now);
}

function firstDeliveries(receivers: Partial<Record<ReceiverName, unknown>>, now: number): Deliveries {
  const named = RECEIVERS.filter((name) => receivers[name] !== undefined);
  return Object.fromEntries(named.map((name) => [name, newDelivery(now)]));
}

const SECOND = 1000;
const MINUTE = 60 * SECOND;
const HOUR = 60 * MINUTE;
/** How long it rests behind each failure, in milliseconds (docs/webhooks.md); behind the last there is no further try. */
const RESTS = [5 * SECOND, 30 * SECOND, 2 * MINUTE, 10 * MINUTE, HOUR, 3 * HOUR, 6 * HOUR, 12 * HOUR];
const MOST_ATTEMPTS = 20;
const GONE = 410;

/** One that is to be tried now. */
export function newDelivery(now: number): Delivery {
  return { status: 'pending', attempts: [], failures: 0, nextAt: now };
}

/** The same with a further attempt. */
export function afterAttempt(before: Delivery, attempt: DeliveryAttempt): Delivery {
  const attempts = [...before.attempts, attempt].slice(-MOST_ATTEMPTS);
  const { status } = attempt;
  if (status !== null && status >= 200 && status < 300) {
    return { ...before, status: 'delivered', attempts, nextAt: null };
  }
  const rest = status === GONE ? undefined : RESTS[before.failures];
  const failures = before.failures + 1;
  if (rest === undefined) return givenUp({ ...before, attempts, failures });
  return { ...before, attempts, failures, nextAt: attempt.at + rest };
}

/** The same, not to be tried any more. */
export function givenUp(before: Delivery): Delivery {
  return { ...before, status: 'failed', nextAt: null };
}

/** The same, to be tried again from the beginning. */
export function askedAgain(before: Delivery, now: number): Delivery {
  return { ...before, status: 'pending', failures: 0, nextAt: now };
}

/** When the next of these is due, in Unix milliseconds. */
export function nextOf(all: Deliveries): number | undefined {
  const times = Object.values(all).flatMap(({ nextAt }) => nextAt ?? []);
  return times.length > 0 ? Math.min(...times) : undefined;
}
