import { randomBytes } from 'node:crypto';
import { GatewayError } from '../../base/errors.ts';
import type { KeyConfig } from '../../config/schema.ts';
import type { EndedRun, HeldLimits } from '../../runs/runs.ts';
import type { LimitAsk, LimitGrant, LimitReturn, LimitStore } from '../../store/limits.ts';

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

const MINUTE = 60;
const DAY = 86_400;
const REQUESTS = 'requests';
const TOKENS = 'tokens';
/** Money in millionths. */
const COSTS = 'costs';
const RUNS = 'runs';
/** Requests with reserved tokens, and with reserved money. */
const RESERVED_TOKENS = 'reserved';
const RESERVED_COSTS = 'reserved-costs';
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
  readonly #store: LimitStore;
  /**
   * Ids of requests that are no runs begin with this, so that no other instance has the same. Those of ended ones are
   * used again: a name that a table has not seen yet costs it more than all the rest.
   */
  readonly #ids = randomBytes(6).toString('base64url');
  readonly #freeIds: string[] = [];
  #made = 0;

  constructor(store: LimitStore) {
    this.#store = store;
  }

  /**
   * Counts a request. The limits that can be given back come first, so that a request refused for concurrency does
   * not use up the rate limit. All of them are taken in one step, which may be a way to another process.
   * @throws GatewayError `concurrency_limit_exceeded`, `quota_exceeded`, `rate_limit_exceeded`.
   */
  async admit(request: AdmissionRequest): Promise<Admitted> {
    const { key, id = this.#freeIds.pop() ?? this.#newId() } = request;
    const asks = asksOf(request);
    const holder = { key: key.id, id };
    const held: HeldLimits = {};
    if (asks.length > 0) checkGrants(await this.#store.take(holder, asks), { asks, request, held });
    let settled = false;
    return {
      held,
      undo: async () => {
        if (asks.length > 0) await this.#store.giveBack(holder, asks.flatMap(returnsOf));
      },
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
    const read = async (name: string, windowSeconds: number) =>
      (await this.#store.counter({ name, windowSeconds }).take(id, 0, { limit: 0, force: true })).used;
    const { requests_per_minute: requests, concurrent_runs: runs, tokens_per_day: tokens } = limits;
    const { cost_per_day: cost } = limits;
    const places = () => this.#store.slots({ name: RUNS }).count(id);
    return [
      ...(requests === undefined
        ? []
        : [{ name: 'requests_per_minute', limit: requests, used: await read(REQUESTS, MINUTE) }]),
      ...(runs === undefined ? [] : [{ name: 'concurrent_runs', limit: runs, used: await places() }]),
      ...(tokens === undefined ? [] : [{ name: 'tokens_per_day', limit: tokens, used: await read(TOKENS, DAY) }]),
      ...(cost === undefined
        ? []
        : [{ name: 'cost_per_day', limit: cost, used: (await read(COSTS, DAY)) / MILLIONTHS }]),
    ];
  }

  /** Frees what an ended run held, whoever admitted it. */
  async runEnded({ keyId, id, held, tokens, cost = 0 }: EndedRun): Promise<void> {
    const returns: LimitReturn[] = [];
    if (held.place) returns.push({ what: 'place', name: RUNS });
    if (held.tokens !== undefined) {
      returns.push({ what: 'place', name: RESERVED_TOKENS });
      if (tokens !== null)
        returns.push({ what: 'points', name: TOKENS, windowSeconds: DAY, points: held.tokens - tokens });
    }
    if (held.cost !== undefined) {
      returns.push({ what: 'place', name: RESERVED_COSTS });
      // What has no price keeps nothing: the reservation goes back.
      const used = cost === null ? null : Math.ceil(cost * MILLIONTHS - ROUNDING);
      if (used !== null) returns.push({ what: 'points', name: COSTS, windowSeconds: DAY, points: held.cost - used });
    }
    if (returns.length > 0) await this.#store.giveBack({ key: keyId, id }, returns);
  }
}

/** What a request is counted against, in this order. */
function asksOf(request: AdmissionRequest): LimitAsk[] {
  const { key, runMs, cost } = request;
  const { concurrent_runs: places, tokens_per_day: tokens, cost_per_day: money, requests_per_minute } = key.limits;
  const asks: LimitAsk[] = [];
  if (places !== undefined && runMs !== undefined) {
    asks.push({ what: 'place', name: RUNS, limit: places, ttlMs: runMs });
  }
  const reservedMs = runMs ?? DAY * 1000;
  if (tokens !== undefined) {
    // Never more than the whole limit: a key with a small one can still send something.
    const points = Math.max(1, Math.min(request.tokens, tokens));
    const reserved = { name: RESERVED_TOKENS, ttlMs: reservedMs };
    asks.push({ what: 'points', name: TOKENS, windowSeconds: DAY, points, limit: tokens, reserved });
  }
  if (money !== undefined && cost !== undefined) {
    const limit = Math.round(money * MILLIONTHS);
    const points = Math.max(1, Math.min(limit, Math.ceil(cost * MILLIONTHS)));
    const reserved = { name: RESERVED_COSTS, ttlMs: reservedMs };
    asks.push({ what: 'points', name: COSTS, windowSeconds: DAY, points, limit, reserved });
  }
  if (requests_per_minute !== undefined) {
    asks.push({ what: 'points', name: REQUESTS, windowSeconds: MINUTE, points: 1, limit: requests_per_minute });
  }
  return asks;
}

/** Notes what a request holds until it ends. @throws GatewayError where one was not granted. */
function checkGrants(
  grants: readonly LimitGrant[],
  { asks, request, held }: { asks: readonly LimitAsk[]; request: AdmissionRequest; held: HeldLimits },
): void {
  for (let at = 0; at < grants.length; at++) {
    const ask = asks[at];
    const grant = grants[at];
    if (!ask || !grant) return;
    if (ask.name === REQUESTS) announceRequests(request, { limit: ask.limit, ...grant });
    if (!grant.granted) throw refusal(ask, { limits: request.key.limits, retryAfterMs: grant.resetMs });
    if (ask.what === 'place') held.place = true;
    else if (ask.name === TOKENS) held.tokens = ask.points;
    else if (ask.name === COSTS) held.cost = ask.points;
  }
}

function refusal(
  { name, limit }: LimitAsk,
  { limits, retryAfterMs }: { limits: KeyConfig['limits']; retryAfterMs: number },
): GatewayError {
  switch (name) {
    case RUNS:
      return new GatewayError('concurrency_limit_exceeded', `This key may have ${limit} runs at a time.`, {
        retryAfterMs: CONCURRENCY_RETRY_MS,
      });
    case TOKENS:
      return new GatewayError('quota_exceeded', `This key has used up its ${limit} tokens a day.`, { retryAfterMs });
    case COSTS:
      return new GatewayError('quota_exceeded', `This key has used up its cost of ${limits.cost_per_day} a day.`, {
        retryAfterMs,
      });
    default:
      return new GatewayError('rate_limit_exceeded', `This key may send ${limit} requests a minute.`, { retryAfterMs });
  }
}

function announceRequests(
  { announce }: AdmissionRequest,
  { limit, used, resetMs }: { limit: number; used: number; resetMs: number },
): void {
  announce({
    'x-ratelimit-limit-requests': String(limit),
    'x-ratelimit-remaining-requests': String(Math.max(0, limit - used)),
    'x-ratelimit-reset-requests': duration(resetMs),
  });
}

/** All that was taken for it. */
function returnsOf(ask: LimitAsk): LimitReturn[] {
  const { name, what } = ask;
  if (what === 'place') return [{ what, name }];
  const points: LimitReturn = { what, name, windowSeconds: ask.windowSeconds, points: ask.points };
  return ask.reserved ? [{ what: 'place', name: ask.reserved.name }, points] : [points];
}

/** A time as OpenAI writes it: `250ms`, `12s`, `1m0s`. */
function duration(ms: number): string {
  if (ms < 1000) return `${Math.ceil(ms)}ms`;
  const seconds = Math.ceil(ms / 1000);
  return seconds < 60 ? `${seconds}s` : `${Math.floor(seconds / 60)}m${seconds % 60}s`;
}
