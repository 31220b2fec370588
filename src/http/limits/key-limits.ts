import { GatewayError } from '../../base/errors.ts';
import type { GatewayConfig, KeyConfig } from '../../config/schema.ts';
import type { HeldLimits, HeldOfOne } from '../../runs/runs.ts';
import type { LimitHolder, LimitNote, LimitRelease, LimitRequest, LimitResult } from '../../store/limit-store.ts';
import { tokensOf, type Used } from '../../upstream/used.ts';
import type { Fractions } from './fractions.ts';

/** The limits of a key and of its team, as the store counts them. */

export const REQUESTS = { name: 'requests', windowSeconds: 60 };
export const RUNS = 'runs';
const MILLIONTHS = 1_000_000;
/** A sum of floating-point numbers may exceed the true one by this much without costing another millionth. */
const ROUNDING = 1e-6;
/** When a place may have become free, in milliseconds. */
const CONCURRENCY_RETRY_MS = 2000;

/** How tokens and costs are counted. */
export const POINTS = {
  tokens: (tokens: number) => tokens,
  cost: (cost: number) => Math.max(0, Math.ceil(cost * MILLIONTHS - ROUNDING)),
};

/** What is reserved before it is known how much of it is used. */
export const BUDGETS = [
  {
    of: 'tokens',
    held: 'tokens',
    setting: 'tokens_per_day',
    per: 'day',
    window: { name: 'tokens', windowSeconds: 86_400 },
  },
  {
    of: 'cost',
    held: 'cost',
    setting: 'cost_per_day',
    per: 'day',
    window: { name: 'costs', windowSeconds: 86_400 },
  },
  {
    of: 'tokens',
    held: 'minuteTokens',
    setting: 'tokens_per_minute',
    per: 'minute',
    window: { name: 'minute-tokens', windowSeconds: 60 },
  },
  {
    of: 'cost',
    held: 'monthCost',
    setting: 'cost_per_month',
    per: 'month',
    window: { name: 'month-costs', windowSeconds: 30 * 86_400 },
  },
] as const;

type Budget = (typeof BUDGETS)[number];

/** A key, or its team. */
export interface LimitOwner {
  /** How the store knows it where it is not the key. */
  owner?: string;
  team?: string;
  limits: KeyConfig['limits'];
}

/** Whose limits a key is under: its own, and those of its team. */
export function ownersOf(key: KeyConfig, teams: GatewayConfig['teams']): LimitOwner[] {
  const team = key.team === undefined ? undefined : teams[key.team];
  const own: LimitOwner = { limits: key.limits };
  return key.team === undefined || !team ? [own] : [own, teamOwner(key.team, team.limits)];
}

/** No id of a key holds a space. */
function teamOwner(id: string, limits: KeyConfig['limits']): LimitOwner & { owner: string } {
  return { owner: `team ${id}`, team: id, limits };
}

/** What a request will use at most, by what is known, and for how long it holds that, in milliseconds. */
export interface MaxUsage {
  tokens?: number | undefined;
  cost?: number | undefined;
  isRun: boolean;
  ttlMs: number;
}

/** One of the limits that a request is counted against, and whose it is. */
export interface OwnedRequest {
  request: LimitRequest;
  of: LimitOwner;
}

/** What a request is counted against, in this order: what can be given back comes before the rates. */
export function limitsOf(owners: readonly LimitOwner[], most: MaxUsage): OwnedRequest[] {
  const places: OwnedRequest[] = [];
  const budgets: OwnedRequest[] = [];
  const rates: OwnedRequest[] = [];
  for (const of of owners) {
    const { limits, owner } = of;
    const { concurrent_runs: runs, requests_per_minute: requests } = limits;
    const { ttlMs } = most;
    if (runs !== undefined && most.isRun) {
      places.push({ of, request: { kind: 'place', name: RUNS, limit: runs, ttlMs, owner } });
    }
    for (const budget of BUDGETS) {
      const asked = pointsFor(budget, limits, most);
      if (!asked) continue;
      const { points, limit } = asked;
      const { name, windowSeconds } = budget.window;
      budgets.push({ of, request: { kind: 'budget', name, windowSeconds, points, limit, ttlMs, owner } });
    }
    if (requests !== undefined) {
      const { name, windowSeconds } = REQUESTS;
      rates.push({ of, request: { kind: 'points', name, windowSeconds, points: 1, limit: requests, owner } });
    }
  }
  return [...places, ...budgets, ...rates];
}

function pointsFor(budget: Budget, limits: KeyConfig['limits'], most: MaxUsage) {
  const limit = limits[budget.setting];
  const amount = most[budget.of];
  if (limit === undefined || amount === undefined) return undefined;
  const all = POINTS[budget.of](limit);
  // A run lasts for many minutes: it counts in the one in which it ends.
  if (budget.per === 'minute' && most.isRun) return { points: 1, limit: all };
  // Never more than the whole limit: an owner with a small one can still send something.
  return { points: Math.max(1, Math.min(all, POINTS[budget.of](amount))), limit: all };
}

/** What a request holds until it ends. */
export function reservedBy(limits: readonly OwnedRequest[]): HeldLimits {
  const held: HeldLimits = {};
  for (const { of: one, request } of limits) {
    if (one.team !== undefined) held.team ??= { id: one.team };
    const part = one.team === undefined ? held : held.team;
    if (!part) continue;
    if (request.kind === 'place') part.place = true;
    else if (request.kind === 'budget') {
      const budget = BUDGETS.find(({ window }) => window.name === request.name);
      if (budget) part[budget.held] = request.points;
    }
  }
  return held;
}

/** What is held of the limits of the key, and of its team; `owner`: how the store knows the team. */
function partsOf(held: HeldLimits): { part: HeldOfOne; owner?: string }[] {
  return held.team ? [{ part: held }, { part: held.team, ...teamOwner(held.team.id, {}) }] : [{ part: held }];
}

function placesOf(held: HeldLimits) {
  return partsOf(held).flatMap(({ part, owner }) =>
    part.place ? [{ kind: 'place' as const, name: RUNS, owner }] : [],
  );
}

function budgetsOf(held: HeldLimits) {
  return partsOf(held).flatMap(({ part, owner }) =>
    BUDGETS.flatMap((budget) => {
      const points = part[budget.held];
      return points === undefined ? [] : [{ budget, points, owner }];
    }),
  );
}

/** What a holder has used so far. */
export function notesOf(
  { holder, held }: { holder: LimitHolder; held: HeldLimits },
  used: Used,
  ttlMs: number,
): LimitNote[] {
  const noted = budgetsOf(held).filter(({ budget }) => budget.per !== 'minute' || !holder.lasting);
  return noted.map(({ budget, owner = holder.key }) => {
    const spent = budget.of === 'tokens' ? tokensOf(used) : POINTS.cost(used.cost);
    return { ...budget.window, holder: { ...holder, key: owner }, spent, ttlMs };
  });
}

/** What a run that begins holds from now on, however many others there are. */
export function reserveAgain(held: HeldLimits, ttlMs: number): LimitRequest[] {
  const options = { limit: Number.POSITIVE_INFINITY, ttlMs };
  const budgets = budgetsOf(held).map(({ budget, points, owner }) => {
    return { kind: 'budget' as const, ...budget.window, points, owner };
  });
  return [...placesOf(held), ...budgets].map((part) => ({ ...part, ...options }));
}

/** What is given back and settled of what was held. */
export function releasesOf(
  { keyId, held, used }: { keyId: string; held: HeldLimits; used: Used },
  fractions: Fractions,
): LimitRelease[] {
  const budgets = budgetsOf(held).map(({ budget: { of, window }, points, owner }) => {
    const cost = () => fractions.takeWhole(`${window.name} ${owner ?? keyId}`, used.cost * MILLIONTHS);
    return { kind: 'budget' as const, ...window, points, spent: of === 'tokens' ? tokensOf(used) : cost(), owner };
  });
  return [...placesOf(held), ...budgets];
}

/** What a client is told whose request does not fit a limit. */
export function limitError({ request, of: one }: OwnedRequest, { reservedByOthers, count }: LimitResult): GatewayError {
  const { name, limit } = request;
  const soon = { retryAfterMs: CONCURRENCY_RETRY_MS };
  const later = { retryAfterMs: count?.resetMs ?? 0 };
  const [who, whose] = one.team === undefined ? ['This key', 'this key'] : ['The team of this key', "this key's team"];
  const budget = BUDGETS.find(({ window }) => window.name === name);
  if (name === RUNS) {
    return new GatewayError('concurrency_limit_exceeded', `${who} may have ${limit} runs at a time.`, soon);
  }
  if (!budget) return new GatewayError('rate_limit_exceeded', `${who} may send ${limit} requests a minute.`, later);
  const code = budget.per === 'minute' ? 'rate_limit_exceeded' : 'quota_exceeded';
  if (reservedByOthers) {
    // Most use less than they reserve, and end long before the window does.
    const message = `The ${budget.of} that other requests of ${whose} may still use leave too little of the ${budget.per} for this one. Try again when one has ended.`;
    return new GatewayError(code, message, soon);
  }
  const amount = budget.of === 'cost' ? `cost of ${one.limits[budget.setting]}` : `${limit} tokens`;
  return new GatewayError(code, `${who} has used up its ${amount} a ${budget.per}.`, later);
}
