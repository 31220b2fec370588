import type {
  Awaitable,
  Counter,
  CounterWindow,
  LimitHolder,
  LimitRelease,
  LimitRequest,
  LimitResult,
  LimitStore,
  Slots,
} from './limits.ts';
import { releasesOf } from './limits.ts';

type LimitParts = Pick<LimitStore, 'counter' | 'slots'>;

/** A limit store over counters and slots, one of each name. */
export function limitStore(make: LimitParts): LimitStore {
  const counters = new Map<string, Counter>();
  const places = new Map<string, Slots>();
  const parts: LimitParts = {
    counter(window) {
      const counter = counters.get(window.name) ?? make.counter(window);
      counters.set(window.name, counter);
      return counter;
    },
    slots(options) {
      const slots = places.get(options.name) ?? make.slots(options);
      places.set(options.name, slots);
      return slots;
    },
  };
  return {
    ...parts,
    take: (holder, requests) => takeAll(parts, holder, requests),
    async giveBack(holder, releases) {
      await giveAllBack(parts, holder, releases);
      return true;
    },
  };
}

/** What is counted in this process is not waited for: every request comes by here. */
async function takeAll(
  parts: LimitParts,
  holder: LimitHolder,
  requests: readonly LimitRequest[],
): Promise<LimitResult[]> {
  const results: LimitResult[] = [];
  const undo = () => giveAllBack(parts, holder, requests.slice(0, results.length).reverse().flatMap(releasesOf));
  for (const request of requests) {
    let result: LimitResult;
    try {
      const taking = takeOne(parts, holder, request);
      result = taking instanceof Promise ? await taking : taking;
    } catch (thrown) {
      await undo();
      throw thrown;
    }
    if (!result.granted) {
      await undo();
      results.push(result);
      return results;
    }
    results.push(result);
  }
  return results;
}

function takeOne(parts: LimitParts, holder: LimitHolder, request: LimitRequest): Awaitable<LimitResult> {
  const { key, id } = holder;
  if (request.kind === 'place') {
    const taking = parts.slots(request).take(key, id, request);
    return taking instanceof Promise ? taking.then((granted) => ({ granted })) : { granted: taking };
  }
  const { points, limit, reserved } = request;
  if (reserved) return reserve(parts, holder, { points, limit, reserved, window: request });
  const taking = parts.counter(request).take(key, points, { limit });
  return taking instanceof Promise
    ? taking.then((count) => ({ granted: count.granted, count }))
    : { granted: taking.granted, count: taking };
}

interface Reservation {
  points: number;
  limit: number;
  reserved: { name: string; ttlMs: number };
  window: CounterWindow;
}

async function reserve(
  parts: LimitParts,
  { key, id }: LimitHolder,
  { points, limit, reserved, window }: Reservation,
): Promise<LimitResult> {
  const slots = parts.slots(reserved);
  const place = slots.take(key, id, { limit: Number.POSITIVE_INFINITY, ttlMs: reserved.ttlMs });
  if (place instanceof Promise) await place;
  const held = slots.count(key);
  const alone = (held instanceof Promise ? await held : held) === 1;
  const counter = parts.counter(window);
  const fits = counter.take(key, points, { limit });
  let count = fits instanceof Promise ? await fits : fits;
  if (!count.granted && alone && count.used < limit) count = await counter.take(key, points, { limit, force: true });
  if (count.granted) return { granted: true, count };
  const releasing = slots.release(key, id);
  if (releasing instanceof Promise) await releasing;
  // Asked again: others that were about to be refused have let go of theirs, too.
  return { granted: false, count, reservedByOthers: (await slots.count(key)) > 0 };
}

async function giveAllBack(
  parts: LimitParts,
  { key, id }: LimitHolder,
  releases: readonly LimitRelease[],
): Promise<void> {
  for (const release of releases) {
    const place = release.kind === 'place' ? release : release.reserved;
    const releasing = place && parts.slots(place).release(key, id);
    if (releasing instanceof Promise) await releasing;
    const giving = release.kind === 'points' && parts.counter(release).giveBack(key, release.points);
    if (giving instanceof Promise) await giving;
  }
}
