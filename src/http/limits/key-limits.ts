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

const tokenPoints = (tokens: number) => tokens;
const costPoints = (cost: number) => Math.max(0, Math.ceil(cost * MILLIONTHS - ROUNDING));

/** What is reserved before it is known how much of it is used; `pointsOf` is how it is counted. */
export const BUDGETS = [
  {
    of: 'tokens',
    held: 'tokens',
    setting: 'tokens_per_day',
    per: 'day',
    window: { name: 'tokens', windowSeconds: 86_400 },
    pointsOf: tokenPoints,
  },
  {
    of: 'cost',
    held: 'cost',
    setting: 'cost_per_day',
    per: 'day',
    window: { name: 'costs', windowSeconds: 86_400 },
    pointsOf: costPoints,
  },
  {
    of: 'tokens',
    held: 'minuteTokens',
    setting: 'tokens_per_minute',
    per: 'minute',
    window: { name: 'minute-tokens', windowSeconds: 60 },
    pointsOf: tokenPoints,
  },
  {
    of: 'cost',
    held: 'monthCost',
    setting: 'cost_per_month',
    per: 'month',
    window: { name: 'month-costs', windowSeconds: 30 * 86_400 },
    pointsOf: costPoints,
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
export interface Most {
  tokens?: number | undefined;
  cost?: number | undefined;
  isRun: boolean;
  ttlMs: number;
}

export type OwnedRequest = LimitRequest & { of: LimitOwner };

/** What a request is counted against, in this order: what can be given back comes before the rates. */
export function limitsOf(owners: readonly LimitOwner[], most: Most): OwnedRequest[] {
  const places: OwnedRequest[] = [];
  const budgets: OwnedRequest[] = [];
  const rates: OwnedRequest[] = [];
  for (const one of owners) {
    const { limits, owner } = one;
    const { concurrent_runs: runs, requests_per_minute: requests } = limits;
    const whose = { of: one, ...(owner !== undefined && { owner }) };
    const { ttlMs } = most;
    if (runs !== undefined && most.isRun) places.push({ kind: 'place', name: RUNS, limit: runs, ttlMs, ...whose });
    for (const budget of BUDGETS) {
      const points = pointsFor(budget, limits, most);
      if (points !== undefined) budgets.push({ kind: 'budget', ...budget.window, ...points, ttlMs, ...whose });
    }
    if (requests !== undefined) rates.push({ kind: 'points', ...REQUESTS, points: 1, limit: requests, ...whose });
  }
  return [...places, ...budgets, ...rates];
}

function pointsFor(budget: Budget, limits: KeyConfig['limits'], most: Most) {
  const limit = limits[budget.setting];
  const amount = most[budget.of];
  if (limit === undefined || amount === undefined) return undefined;
  const all = budget.pointsOf(limit);
  // A run lasts for many minutes: it counts in the one in which it ends.
  if (budget.per === 'minute' && most.isRun) return { points: 1, limit: all };
  // Never more than the whole limit: an owner with a small one can still send something.
  return { points: Math.max(1, Math.min(all, budget.pointsOf(amount))), limit: all };
}

/** What a request holds until it ends. */
export function heldBy(limits: readonly OwnedRequest[]): HeldLimits {
  const held: HeldLimits = {};
  for (const { of: one, ...limit } of limits) {
    if (one.team !== undefined) held.team ??= { id: one.team };
    const part = one.team === undefined ? held : held.team;
    const budget = BUDGETS.find(({ window }) => window.name === limit.name);
    if (!part) continue;
    if (limit.kind === 'place') part.place = true;
    else if (budget && limit.kind === 'budget') part[budget.held] = limit.points;
  }
  return held;
}

/** The parts of what is held, each with whose it is. */
function partsOf({ team, ...own }: HeldLimits): { part: HeldOfOne; owner?: string }[] {
  return team ? [{ part: own }, { part: team, owner: teamOwner(team.id, {}).owner }] : [{ part: own }];
}

function heldBudgets(held: HeldLimits) {
  return partsOf(held).flatMap(({ part, owner }) =>
    BUDGETS.flatMap((budget) => {
      const points = part[budget.held];
      return points === undefined ? [] : [{ ...budget, points, ...(owner !== undefined && { owner }) }];
    }),
  );
}

/** Whether it is to be noted what a holder of this uses. */
export function hasBudgets(held: HeldLimits): boolean {
  return partsOf(held).some(({ part }) => BUDGETS.some((budget) => part[budget.held] !== undefined));
}

/** What a holder has used so far. */
export function notesOf(
  { holder, held }: { holder: LimitHolder; held: HeldLimits },
  used: Used,
  ttlMs: number,
): LimitNote[] {
  return heldBudgets(held)
    .filter(({ per }) => per !== 'minute' || !holder.lasting)
    .map(({ window, owner, ...budget }) => ({
      ...window,
      holder: owner === undefined ? holder : { ...holder, key: owner },
      spent: spentOf(budget, used),
      ttlMs,
    }));
}

/** What a run that begins holds from now on, however many others there are. */
export function holdAnew(held: HeldLimits, ttlMs: number): LimitRequest[] {
  const options = { limit: Number.POSITIVE_INFINITY, ttlMs };
  const places = partsOf(held).flatMap(({ part, owner }): LimitRequest[] =>
    part.place ? [{ kind: 'place', name: RUNS, ...options, ...(owner !== undefined && { owner }) }] : [],
  );
  const budgets = heldBudgets(held).map(
    ({ window, points, owner }): LimitRequest => ({
      kind: 'budget',
      ...window,
      points,
      ...options,
      ...(owner !== undefined && { owner }),
    }),
  );
  return [...places, ...budgets];
}

/** What is given back and settled of what was held. */
export function releasesOf(
  { keyId, held, used }: { keyId: string; held: HeldLimits; used: Used },
  fractions: Fractions,
): LimitRelease[] {
  const places = partsOf(held).flatMap(({ part, owner }): LimitRelease[] =>
    part.place ? [{ kind: 'place', name: RUNS, ...(owner !== undefined && { owner }) }] : [],
  );
  const budgets = heldBudgets(held).map(
    ({ window, points, owner, of }): LimitRelease => ({
      kind: 'budget',
      ...window,
      points,
      spent:
        of === 'tokens' ? tokensOf(used) : fractions.whole(`${window.name} ${owner ?? keyId}`, used.cost * MILLIONTHS),
      ...(owner !== undefined && { owner }),
    }),
  );
  return [...places, ...budgets];
}

function spentOf({ of, pointsOf }: Pick<Budget, 'of' | 'pointsOf'>, used: Used): number {
  return pointsOf(of === 'tokens' ? tokensOf(used) : used.cost);
}

/** What a client is told whose request does not fit a limit. */
export function refusalOf(request: OwnedRequest, { reservedByOthers, count }: LimitResult): GatewayError {
  const { name, limit, of: one } = request;
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
