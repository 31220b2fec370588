import { GatewayError } from '../../base/errors.ts';
import type { KeyConfig } from '../../config/schema.ts';
import type { EndedRun, HeldLimits } from '../../runs/runs.ts';
import type { Counter, LimitStore, Slots } from '../../store/limits.ts';

/** A request that asks to be counted. */
export interface AdmissionRequest {
  key: KeyConfig;
  /** Id of the run or request: what it holds is freed by this id. */
  id: string;
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
   * not use up the rate limit.
   * @throws GatewayError `concurrency_limit_exceeded`, `quota_exceeded`, `rate_limit_exceeded`.
   */
  async admit(request: AdmissionRequest): Promise<Admitted> {
    await using undo = new AsyncDisposableStack();
    const place = await this.#takePlace(request, undo);
    const tokens = await this.#reserveTokens(request, undo);
    const cost = await this.#reserveCost(request, undo);
    await this.#countRequest(request, undo);
    const taken = undo.move();
    const held: HeldLimits = {
      ...(place && { place }),
      ...(tokens !== undefined && { tokens }),
      ...(cost !== undefined && { cost }),
    };
    return {
      held,
      undo: () => taken.disposeAsync(),
      settle: (tokens, cost = 0) => this.runEnded({ keyId: request.key.id, id: request.id, held, tokens, cost }),
    };
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

  async #takePlace({ key, id, runMs }: AdmissionRequest, undo: AsyncDisposableStack): Promise<boolean> {
    const limit = key.limits.concurrent_runs;
    if (limit === undefined || runMs === undefined) return false;
    if (!(await this.#runs.take(key.id, id, { limit, ttlMs: runMs }))) {
      throw new GatewayError('concurrency_limit_exceeded', `This key may have ${limit} runs at a time.`, {
        retryAfterMs: CONCURRENCY_RETRY_MS,
      });
    }
    undo.defer(() => this.#runs.release(key.id, id));
    return true;
  }

  /** The tokens reserved; undefined where the key has no such limit. */
  async #reserveTokens(request: AdmissionRequest, undo: AsyncDisposableStack): Promise<number | undefined> {
    const { key, id } = request;
    const limit = key.limits.tokens_per_day;
    if (limit === undefined) return undefined;
    const tokens = reservation(request);
    await this.#reserved.take(key.id, id, { limit: Number.POSITIVE_INFINITY, ttlMs: request.runMs ?? DAY * 1000 });
    undo.defer(() => this.#reserved.release(key.id, id));
    const alone = (await this.#reserved.count(key.id)) === 1;
    const count = await this.#take(this.#tokens, key.id, tokens, { limit, alone });
    if (!count.granted) {
      throw new GatewayError('quota_exceeded', `This key has used up its ${limit} tokens a day.`, {
        retryAfterMs: count.resetMs,
      });
    }
    undo.defer(() => this.#tokens.giveBack(key.id, tokens));
    return tokens;
  }

  /** A request that is alone only needs something to be left; parallel ones have to fit together. */
  async #take(counter: Counter, key: string, points: number, { limit, alone }: { limit: number; alone: boolean }) {
    const count = await counter.take(key, points, { limit });
    if (count.granted || !alone || count.used >= limit) return count;
    return await counter.take(key, points, { limit, force: true });
  }

  /** The millionths reserved; undefined where the key has no such limit. */
  async #reserveCost(request: AdmissionRequest, undo: AsyncDisposableStack): Promise<number | undefined> {
    const { key, id, cost, runMs } = request;
    const limit = key.limits.cost_per_day;
    if (limit === undefined || cost === undefined) return undefined;
    const most = Math.round(limit * MILLIONTHS);
    const wanted = Math.max(1, Math.min(most, Math.ceil(cost * MILLIONTHS)));
    await this.#reservedCosts.take(key.id, id, { limit: Number.POSITIVE_INFINITY, ttlMs: runMs ?? DAY * 1000 });
    undo.defer(() => this.#reservedCosts.release(key.id, id));
    const alone = (await this.#reservedCosts.count(key.id)) === 1;
    const count = await this.#take(this.#costs, key.id, wanted, { limit: most, alone });
    if (!count.granted) {
      throw new GatewayError('quota_exceeded', `This key has used up its cost of ${limit} a day.`, {
        retryAfterMs: count.resetMs,
      });
    }
    undo.defer(() => this.#costs.giveBack(key.id, wanted));
    return wanted;
  }

  async #countRequest({ key, announce }: AdmissionRequest, undo: AsyncDisposableStack): Promise<void> {
    const limit = key.limits.requests_per_minute;
    if (limit === undefined) return;
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
    undo.defer(() => this.#requests.giveBack(key.id, 1));
  }
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
