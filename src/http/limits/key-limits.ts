import { GatewayError } from '../../base/errors.ts';
import { counted } from '../../base/text.ts';
import type { GatewayConfig, KeyConfig } from '../../config/schema.ts';
import type { LimitReservation, RunReservation } from '../../runs/stored/request-schema.ts';
import type { LimitHolder, LimitNote, LimitRelease, LimitRequest, LimitResult } from '../../store/limit-store.ts';
import { totalTokens, type UsageTotals } from '../../upstream/usage-totals.ts';
import type { Fractions } from './fractions.ts';

/** The limits of a key and of its team, as the store counts them. */

export const REQUESTS = { name: 'requests', windowSeconds: 60 };
export const RUNS = 'runs';
const MILLIONTHS = 1_000_000;
/** A floating-point sum may exceed the true one by this much without costing another millionth. */
const ROUNDING = 1e-6;
/** When a run may have ended, in milliseconds. */
const CONCURRENCY_RETRY_MS = 2000;

/** How tokens and costs are converted to the points that the store counts. */
export const POINTS = {
  tokens: (tokens: number) => tokens,
  cost: (cost: number) => Math.max(0, Math.ceil(cost * MILLIONTHS - ROUNDING)),
};

/** Limits of which a request reserves a part before it is known how much it uses. */
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
  /** The owner's name in the store; absent: the key's id. */
  owner?: string;
  team?: string;
  limits: KeyConfig['limits'];
}

/** Who sets limits for a key: itself, and its team. */
export function ownersOf(key: KeyConfig, teams: GatewayConfig['teams']): LimitOwner[] {
  const team = key.team === undefined ? undefined : teams[key.team];
  const own: LimitOwner = { limits: key.limits };
  return key.team === undefined || !team ? [own] : [own, teamOwner(key.team, team.limits)];
}

/** A key's id has no spaces, so it cannot be mistaken for a team. */
function teamOwner(id: string, limits: KeyConfig['limits']): LimitOwner & { owner: string } {
  return { owner: `team ${id}`, team: id, limits };
}

/** The most that a request is expected to use, and how long its reservation lasts, in milliseconds. */
export interface MaxUsage {
  tokens?: number | undefined;
  cost?: number | undefined;
  isRun: boolean;
  ttlMs: number;
}

/** One of the limits that a request is counted against, and its owner. */
export interface OwnedRequest {
  request: LimitRequest;
  owner: LimitOwner;
}

/** The limits that a request is counted against: those that can be released come before the rates. */
export function limitsOf(owners: readonly LimitOwner[], max: MaxUsage): OwnedRequest[] {
  const places: OwnedRequest[] = [];
  const budgets: OwnedRequest[] = [];
  const rates: OwnedRequest[] = [];
  for (const owner of owners) {
    const { limits, owner: ownerId } = owner;
    const { concurrent_runs: runs, requests_per_minute: requests } = limits;
    const { ttlMs } = max;
    if (runs !== undefined && max.isRun) {
      places.push({ owner, request: { kind: 'place', name: RUNS, limit: runs, ttlMs, owner: ownerId } });
    }
    for (const budget of BUDGETS) {
      const reserved = pointsFor(budget, limits, max);
      if (!reserved) continue;
      budgets.push({ owner, request: { kind: 'budget', ...budget.window, ...reserved, ttlMs, owner: ownerId } });
    }
    if (requests !== undefined) {
      rates.push({ owner, request: { kind: 'points', ...REQUESTS, points: 1, limit: requests, owner: ownerId } });
    }
  }
  return [...places, ...budgets, ...rates];
}

function pointsFor(budget: Budget, limits: KeyConfig['limits'], max: MaxUsage) {
  const limit = limits[budget.setting];
  const amount = max[budget.of];
  if (limit === undefined || amount === undefined) return undefined;
  const limitPoints = POINTS[budget.of](limit);
  // A run lasts for many minutes, and counts in the one in which it ends.
  if (budget.per === 'minute' && max.isRun) return { points: 1, limit: limitPoints };
  // Never more than the limit, so that an owner with a small one can send anything at all.
  return { points: Math.max(1, Math.min(limitPoints, POINTS[budget.of](amount))), limit: limitPoints };
}

/** What a request has reserved until it ends. */
export function reservedBy(limits: readonly OwnedRequest[]): RunReservation {
  const held: RunReservation = {};
  for (const { owner, request } of limits) {
    if (owner.team !== undefined) held.team ??= { id: owner.team };
    const part = owner.team === undefined ? held : held.team;
    if (!part) continue;
    if (request.kind === 'place') part.place = true;
    else if (request.kind === 'budget') {
      const budget = BUDGETS.find(({ window }) => window.name === request.name);
      if (budget) part[budget.held] = request.points;
    }
  }
  return held;
}

/** The reservations under the key's limits and under its team's. `owner`: the team's name in the store. */
function partsOf(held: RunReservation): { part: LimitReservation; owner?: string }[] {
  return held.team ? [{ part: held }, { part: held.team, ...teamOwner(held.team.id, {}) }] : [{ part: held }];
}

function placesOf(held: RunReservation) {
  const parts = partsOf(held).filter(({ part }) => part.place);
  return parts.map(({ owner }) => ({ kind: 'place' as const, name: RUNS, owner }));
}

function budgetsOf(held: RunReservation) {
  const budgets: { budget: Budget; points: number; owner: string | undefined }[] = [];
  for (const { part, owner } of partsOf(held)) {
    for (const budget of BUDGETS) {
      const points = part[budget.held];
      if (points !== undefined) budgets.push({ budget, points, owner });
    }
  }
  return budgets;
}

/** The notes for what a holder has used so far. */
export function notesOf(
  { holder, held }: { holder: LimitHolder; held: RunReservation },
  used: UsageTotals,
  ttlMs: number,
): LimitNote[] {
  const budgets = budgetsOf(held).filter(({ budget }) => budget.per !== 'minute' || !holder.lasting);
  return budgets.map(({ budget, owner = holder.key }) => {
    const spent = budget.of === 'tokens' ? totalTokens(used) : POINTS.cost(used.cost);
    return { ...budget.window, holder: { ...holder, key: owner }, spent, ttlMs };
  });
}

/** Requests that renew a run's reservation, whatever the limits are. */
export function reserveAgain(held: RunReservation, ttlMs: number): LimitRequest[] {
  const options = { limit: Number.POSITIVE_INFINITY, ttlMs };
  const budgets = budgetsOf(held).map(({ budget, points, owner }) => {
    return { kind: 'budget' as const, ...budget.window, points, owner };
  });
  return [...placesOf(held), ...budgets].map((part) => ({ ...part, ...options }));
}

/** Releases the reservations of a request, and settles what it used, or without `used` what it noted last. */
export function releasesOf(
  { keyId, held, used }: { keyId: string; held: RunReservation; used: UsageTotals | undefined },
  fractions: Fractions,
): LimitRelease[] {
  const budgets = budgetsOf(held).map(({ budget: { of, window }, points, owner }) => {
    const costOf = ({ cost }: UsageTotals) =>
      fractions.takeWhole(`${window.name} ${owner ?? keyId}`, cost * MILLIONTHS);
    const spent = used && (of === 'tokens' ? totalTokens(used) : costOf(used));
    return { kind: 'budget' as const, ...window, points, spent, owner };
  });
  return [...placesOf(held), ...budgets];
}

/** The error for a request that exceeds a limit. */
export function limitError({ request, owner }: OwnedRequest, { reservedByOthers, count }: LimitResult): GatewayError {
  const { name, limit } = request;
  const soon = { retryAfterMs: CONCURRENCY_RETRY_MS };
  const later = { retryAfterMs: count?.resetMs ?? 0 };
  const [who, whose] =
    owner.team === undefined ? ['This key', 'this key'] : ['The team of this key', "this key's team"];
  const budget = BUDGETS.find(({ window }) => window.name === name);
  if (name === RUNS) {
    return new GatewayError('concurrency_limit_exceeded', `${who} may have ${counted(limit, 'run')} at a time.`, soon);
  }
  if (!budget)
    return new GatewayError('rate_limit_exceeded', `${who} may send ${counted(limit, 'request')} a minute.`, later);
  const code = budget.per === 'minute' ? 'rate_limit_exceeded' : 'quota_exceeded';
  if (reservedByOthers) {
    // Most requests use less than they reserve, and end long before the window does.
    const message = `The ${budget.of} that other requests of ${whose} may still use leave too little of the ${budget.per} for this one. Try again when one has ended.`;
    return new GatewayError(code, message, soon);
  }
  const amount = budget.of === 'cost' ? `cost of ${owner.limits[budget.setting]}` : counted(limit, 'token');
  return new GatewayError(code, `${who} has used up its ${amount} a ${budget.per}.`, later);
}
