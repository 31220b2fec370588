import { randomBytes } from 'node:crypto';
import { GatewayError } from '../../base/errors.ts';
import type { KeyConfig } from '../../config/schema.ts';
import type { EndedRun, HeldLimits } from '../../runs/runs.ts';
import type { Awaitable, Count, Counter, LimitStore, Slots } from '../../store/limits.ts';

/** A request that asks to be counted. */
export interface AdmissionRequest {
  key: KeyConfig;
  /** Id of the run: what it holds is freed by this id. Absent for requests that are no runs. */
  id?: string;
  /** How long a run may hold its place, in milliseconds; absent for requests that are no runs. */
  runMs?: number;
  /** Tokens that the request will use at most, as far as can be said. */
  tokens: number;
  /** What it will cost at most, as far as can be said; absent where its routes have no price. */
  cost?: number | undefined;
  /** Gets the `x-ratelimit-*` headers, also where the request is refused. */
  announce(headers: Record<string, string>): void;
}

/** An admitted request. Exactly one of the two is called, once; a run's `held` is given to `runEnded` instead. */
export interface Admitted {
  held: HeldLimits;
  /** It was refused for another reason: nothing of it counts. */
  undo(): Promise<void>;
  /** It ended: its place is free, its tokens and cost are those really used (null: unknown, the estimate stays). */
  settle(tokens: number | null, cost?: number | null): Promise<void>;
}

/** Gives back something that was taken. */
type Undo = () => Awaitable<void>;

const RUNS = 'runs';
const RESERVED = 'reserved';
const MINUTE = 60;
const DAY = 86_400;
const MILLIONTHS = 1_000_000;
/** What sums of floating-point numbers may be above the true one is no further millionth. */
const ROUNDING = 1e-6;
/** When a place may have become free, in milliseconds. */
const CONCURRENCY_RETRY_MS = 2000;

/**
 * The limits of API keys (contract section 2): the one place that admits requests and frees what they hold. Refused
 * requests use up nothing.
 */
export class Admission {
  readonly #requests: Counter;
  readonly #tokens: Counter;
  /** Money in millionths. */
  readonly #costs: Counter;
  readonly #runs: Slots;
  /** Requests with reserved tokens; the one that is alone may use up what is left. */
  readonly #reserved: Slots;
  readonly #reservedCosts: Slots;
  /**
   * Ids of requests that are no runs begin with this, so that no other instance has the same. Those of ended ones are
   * used again: a name that a table has not seen yet costs it more than all the rest.
   */
  readonly #ids = randomBytes(6).toString('base64url');
  readonly #freeIds: string[] = [];
  #made = 0;

  constructor(store: LimitStore) {
    this.#requests = store.counter({ name: 'requests', windowSeconds: MINUTE });
    this.#tokens = store.counter({ name: 'tokens', windowSeconds: DAY });
    this.#costs = store.counter({ name: 'costs', windowSeconds: DAY });
    this.#runs = store.slots({ name: RUNS });
    this.#reserved = store.slots({ name: RESERVED });
    this.#reservedCosts = store.slots({ name: `${RESERVED}-costs` });
  }

  /**
   * Counts a request. The limits that can be given back come first, so that a request refused for concurrency does
   * not use up the rate limit. What the key has no limit for, or what is counted in this process, is not waited for:
   * every request comes by here.
   * @throws GatewayError `concurrency_limit_exceeded`, `quota_exceeded`, `rate_limit_exceeded`.
   */
  async admit(request: AdmissionRequest): Promise<Admitted> {
    const { key, id = this.#freeIds.pop() ?? this.#newId() } = request;
    const { concurrent_runs: places, tokens_per_day: tokens, cost_per_day: money } = key.limits;
    const held: HeldLimits = {};
    const taken: Undo[] = [];
    const asked = { ...request, id, taken };
    try {
      if (places !== undefined && request.runMs !== undefined) {
        await this.#takePlace(asked, { limit: places, ttlMs: request.runMs });
        held.place = true;
      }
      if (tokens !== undefined) held.tokens = await this.#reserveTokens(asked, tokens);
      if (money !== undefined && request.cost !== undefined) {
        held.cost = await this.#reserveCost(asked, { limit: money, cost: request.cost });
      }
      if (key.limits.requests_per_minute !== undefined) {
        await this.#countRequest(asked, key.limits.requests_per_minute);
      }
    } catch (refused) {
      await undoAll(taken);
      throw refused;
    }
    let settled = false;
    return {
      held,
      undo: () => undoAll(taken),
      settle: async (tokens, cost = 0) => {
        await this.runEnded({ keyId: key.id, id, held, tokens, cost });
        if (request.id === undefined && !settled) this.#freeIds.push(id);
        settled = true;
      },
    };
  }

  #newId(): string {
    this.#made += 1;
    return `${this.#ids}-${this.#made}`;
  }

  /** What counts against a key's limits now, for operators. Only limits that are set. */
  async usage({ id, limits }: KeyConfig): Promise<{ name: string; limit: number; used: number }[]> {
    // Taking nothing from a counter reads it.
    const read = async (counter: Counter) => (await counter.take(id, 0, { limit: 0, force: true })).used;
    const { requests_per_minute: requests, concurrent_runs: runs, tokens_per_day: tokens } = limits;
    const { cost_per_day: cost } = limits;
    return [
      ...(requests === undefined
        ? []
        : [{ name: 'requests_per_minute', limit: requests, used: await read(this.#requests) }]),
      ...(runs === undefined ? [] : [{ name: 'concurrent_runs', limit: runs, used: await this.#runs.count(id) }]),
      ...(tokens === undefined ? [] : [{ name: 'tokens_per_day', limit: tokens, used: await read(this.#tokens) }]),
      ...(cost === undefined
        ? []
        : [{ name: 'cost_per_day', limit: cost, used: (await read(this.#costs)) / MILLIONTHS }]),
    ];
  }

  /** Frees what an ended run held, whoever admitted it. */
  async runEnded({ keyId, id, held, tokens, cost = 0 }: EndedRun): Promise<void> {
    if (held.place) await this.#runs.release(keyId, id);
    if (held.tokens !== undefined) {
      await this.#reserved.release(keyId, id);
      if (tokens !== null) await this.#tokens.giveBack(keyId, held.tokens - tokens);
    }
    if (held.cost !== undefined) {
      await this.#reservedCosts.release(keyId, id);
      // What has no price keeps nothing: the reservation goes back.
      if (cost !== null) await this.#costs.giveBack(keyId, held.cost - Math.ceil(cost * MILLIONTHS - ROUNDING));
    }
  }

  async #takePlace({ key, id, taken }: Asked, limits: { limit: number; ttlMs: number }): Promise<void> {
    if (!(await this.#runs.take(key.id, id, limits))) {
      throw new GatewayError('concurrency_limit_exceeded', `This key may have ${limits.limit} runs at a time.`, {
        retryAfterMs: CONCURRENCY_RETRY_MS,
      });
    }
    taken.push(() => this.#runs.release(key.id, id));
  }

  /** The tokens reserved. */
  async #reserveTokens(asked: Asked, limit: number): Promise<number> {
    const points = reservation(asked);
    const { granted, resetMs } = await this.#reserve(asked, {
      slots: this.#reserved,
      counter: this.#tokens,
      points,
      limit,
    });
    if (granted) return points;
    throw new GatewayError('quota_exceeded', `This key has used up its ${limit} tokens a day.`, {
      retryAfterMs: resetMs,
    });
  }

  /** The millionths reserved. */
  async #reserveCost(asked: Asked, { limit, cost }: { limit: number; cost: number }): Promise<number> {
    const most = Math.round(limit * MILLIONTHS);
    const points = Math.max(1, Math.min(most, Math.ceil(cost * MILLIONTHS)));
    const { granted, resetMs } = await this.#reserve(asked, {
      slots: this.#reservedCosts,
      counter: this.#costs,
      points,
      limit: most,
    });
    if (granted) return points;
    throw new GatewayError('quota_exceeded', `This key has used up its cost of ${limit} a day.`, {
      retryAfterMs: resetMs,
    });
  }

  /** Takes what a request will use at most. One that is alone only needs something to be left; parallel ones have to fit together. */
  async #reserve(
    { key, id, runMs = DAY * 1000, taken }: Asked,
    { slots, counter, points, limit }: { slots: Slots; counter: Counter; points: number; limit: number },
  ): Promise<Count & { granted: boolean }> {
    const place = slots.take(key.id, id, { limit: Number.POSITIVE_INFINITY, ttlMs: runMs });
    if (place instanceof Promise) await place;
    taken.push(() => slots.release(key.id, id));
    const held = slots.count(key.id);
    const alone = (held instanceof Promise ? await held : held) === 1;
    const fits = counter.take(key.id, points, { limit });
    let count = fits instanceof Promise ? await fits : fits;
    if (!count.granted && alone && count.used < limit)
      count = await counter.take(key.id, points, { limit, force: true });
    if (count.granted) taken.push(() => counter.giveBack(key.id, points));
    return count;
  }

  async #countRequest({ key, announce, taken }: Asked, limit: number): Promise<void> {
    const { granted, used, resetMs } = await this.#requests.take(key.id, 1, { limit });
    announce({
      'x-ratelimit-limit-requests': String(limit),
      'x-ratelimit-remaining-requests': String(Math.max(0, limit - used)),
      'x-ratelimit-reset-requests': duration(resetMs),
    });
    if (!granted) {
      throw new GatewayError('rate_limit_exceeded', `This key may send ${limit} requests a minute.`, {
        retryAfterMs: resetMs,
      });
    }
    taken.push(() => this.#requests.giveBack(key.id, 1));
  }
}

/** A request that is being counted, and how to give back what it has taken. */
interface Asked extends AdmissionRequest {
  id: string;
  taken: Undo[];
}

/** The latest first, each once. */
async function undoAll(taken: Undo[]): Promise<void> {
  for (let undo = taken.pop(); undo; undo = taken.pop()) await undo();
}

/** Never more than the whole limit: a key with a small one can still send something. */
function reservation({ key, tokens }: AdmissionRequest): number {
  return Math.max(1, Math.min(tokens, key.limits.tokens_per_day ?? tokens));
}

/** A time as OpenAI writes it: `250ms`, `12s`, `1m0s`. */
function duration(ms: number): string {
  if (ms < 1000) return `${Math.ceil(ms)}ms`;
  const seconds = Math.ceil(ms / 1000);
  return seconds < 60 ? `${seconds}s` : `${Math.floor(seconds / 60)}m${seconds % 60}s`;
}
