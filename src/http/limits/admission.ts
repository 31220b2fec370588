import { randomBytes } from 'node:crypto';
import type { ServerResponse } from 'node:http';
import { inSpan } from '../../base/telemetry/spans.ts';
import type { GatewayConfig, KeyConfig } from '../../config/schema.ts';
import type { AdmittedRun, EndedRun, HeldLimits } from '../../runs/runs.ts';
import {
  type LimitHolder,
  type LimitNote,
  type LimitRelease,
  type LimitResult,
  type LimitStore,
  releaseOf,
} from '../../store/limit-store.ts';
import { nothingUsed, tokensOf, type Used } from '../../upstream/used.ts';
import { Fractions } from './fractions.ts';
import {
  BUDGETS,
  limitError,
  limitsOf,
  notesOf,
  type OwnedRequest,
  ownersOf,
  POINTS,
  REQUESTS,
  RUNS,
  releasesOf,
  reserveAgain,
  reservedBy,
} from './key-limits.ts';

/** A request that asks to be counted. */
export interface AdmissionRequest {
  key: KeyConfig;
  /** Id of the run: what it holds is freed by this id. Absent for requests that are no runs. */
  id?: string;
  /** How long a run may last before its answer, in milliseconds; absent for requests that are no runs. */
  runMs?: number;
  /** Whether the run waits in the queue before it begins. */
  waits?: boolean;
  /** Tokens that the request will use at most, by what is known; absent if it uses none. */
  tokens?: number | undefined;
  /** What it will cost at most, by what is known; absent if its routes have no price. */
  cost?: number | undefined;
  /** Gets the `x-ratelimit-*` headers, also where the request is refused; absent on a WebSocket. */
  res?: ServerResponse | undefined;
  /** What a request that is no run has used so far: it is noted every second, for the case that this process dies. */
  usedSoFar?: () => Used;
  /** Gets what is noted. */
  noted?: (used: Used) => void;
}

/** An admitted request. The first call of one of the two counts; a run's `held` is given to `runEnded` instead. */
export interface Admitted {
  held: HeldLimits;
  /** It was refused for another reason: nothing of it counts. */
  undo(): Promise<unknown>;
  /** It ended: its place is free, and this is what it used; nothing where absent. */
  settle(used?: Used): Promise<unknown>;
}

/** How often it is noted what calls have used so far, in milliseconds. */
const NOTE_MS = 1000;
/** Notes of a call that has used nothing more since the one before: what it holds must not run out. */
const UNCHANGED_NOTES = 60;
/** A call that nobody noted for so long, in milliseconds, is given up: its process died. */
const CALL_MS = 600_000;
/**
 * A run that waits for longer is no longer counted until it begins, in milliseconds. No shorter: it waits for others
 * that may last. No longer: for so long a place is lost whose run was never stored because its process died.
 */
const WAITING_MS = 86_400_000;
/** What an answer may take beyond a tenth of the time of its run, with its repeats, in milliseconds. */
const ANSWER_MS = 600_000;
/**
 * The limits of API keys (docs/operating.md, "Limits"): the one place that admits requests and frees what they hold.
 * Refused requests use up nothing.
 */
export class Admission {
  readonly #store: LimitStore;
  readonly #teams: () => GatewayConfig['teams'];
  /** Ids of requests that are no runs begin with this, so that no other instance has the same. */
  readonly #ids = randomBytes(6).toString('base64url');
  readonly #calls = new Map<string, OpenCall>();
  readonly #fractions = new Fractions();
  #noting: NodeJS.Timeout | undefined;
  #counter = 0;

  /** `teams`: those of the configuration in force. */
  constructor(store: LimitStore, teams: () => GatewayConfig['teams'] = () => ({})) {
    this.#store = store;
    this.#teams = teams;
  }

  /**
   * Counts a request. The limits that can be given back come first, so that a request refused for concurrency does
   * not use up the rate limit. All of them are one call of the store, which may be another process.
   * @throws GatewayError `concurrency_limit_exceeded`, `quota_exceeded`, `rate_limit_exceeded`, `store_unavailable`.
   */
  async admit(request: AdmissionRequest): Promise<Admitted> {
    const { key, id = `${this.#ids}-${++this.#counter}`, tokens, cost, runMs } = request;
    const isRun = runMs !== undefined;
    const limits = limitsOf(ownersOf(key, this.#teams()), { tokens, cost, isRun, ttlMs: heldMs(request) });
    const holder = { key: key.id, id, lasting: isRun };
    if (limits.length > 0) {
      const asked = limits.map((limit) => limit.request);
      const results = await inSpan({ name: 'store limits' }, () => this.#store.take(holder, asked));
      checkResults(results, { limits, request });
    }
    return this.#reservationOf(request, { holder, limits });
  }

  #reservationOf(
    { usedSoFar, noted }: AdmissionRequest,
    { holder, limits }: { holder: LimitHolder; limits: readonly OwnedRequest[] },
  ): Admitted {
    const held = reservedBy(limits);
    const used = usedSoFar ?? nothingUsed;
    const call: OpenCall = { holder, held, used, onNoted: noted, lastNoted: '', skipped: 0, isOver: false };
    if (usedSoFar && limits.some(({ request }) => request.kind === 'budget')) {
      this.#calls.set(holder.id, call);
      this.#noting ??= setInterval(() => this.#noteCalls(), NOTE_MS).unref();
    }
    const all = () => limits.map((limit) => releaseOf(limit.request));
    return {
      held,
      undo: async () => this.#endOnce(call) && (await this.#release(holder, all())),
      settle: async (used = nothingUsed()) => this.#endOnce(call) && (await this.#settle(holder, held, used)),
    };
  }

  /** True the first time. */
  #endOnce(call: OpenCall): boolean {
    if (call.isOver) return false;
    call.isOver = true;
    this.#calls.delete(call.holder.id);
    // A table that a map has outgrown keeps what was in it, and is kept by the one before it: not the request too.
    call.used = nothingUsed;
    call.onNoted = undefined;
    return true;
  }

  #noteCalls(): void {
    if (this.#calls.size === 0) {
      clearInterval(this.#noting);
      this.#noting = undefined;
      return;
    }
    const notes: LimitNote[] = [];
    for (const call of this.#calls.values()) {
      const used = call.used();
      const noted = `${tokensOf(used)} ${used.cost}`;
      call.skipped = noted === call.lastNoted ? call.skipped + 1 : 0;
      if (call.skipped % UNCHANGED_NOTES > 0) continue;
      call.lastNoted = noted;
      call.onNoted?.(used);
      notes.push(...notesOf(call, used, CALL_MS));
    }
    // A store that is away gets the next note.
    if (notes.length > 0) this.#store.note(notes).catch(() => {});
  }

  /** What counts against a key's limits now, for operators. Only limits that are set. */
  async usage(key: KeyConfig): Promise<{ name: string; limit: number; used: number }[]> {
    const usage: { name: string; limit: number; used: number }[] = [];
    for (const { limits, owner = key.id, team } of ownersOf(key, this.#teams())) {
      const { requests_per_minute: requests, concurrent_runs: runs } = limits;
      const named = (name: string) => (team === undefined ? name : `team ${name}`);
      if (requests !== undefined) {
        // Taking nothing from a counter reads it.
        const { used } = await this.#store.counter(REQUESTS).take(owner, 0, { limit: 0, force: true });
        usage.push({ name: named('requests_per_minute'), limit: requests, used });
      }
      if (runs !== undefined) {
        const used = await this.#store.slots({ name: RUNS }).count(owner);
        usage.push({ name: named('concurrent_runs'), limit: runs, used });
      }
      for (const { setting, window, of } of BUDGETS) {
        const limit = limits[setting];
        if (limit === undefined) continue;
        const { used } = await this.#store.budget(window).used(owner);
        usage.push({ name: named(setting), limit, used: used / POINTS[of](1) });
      }
    }
    return usage;
  }

  /**
   * A run goes on that waited, or that another process drove: it holds what it holds for as long as it may last from
   * now, however many others there are.
   * @throws GatewayError `store_unavailable`.
   */
  async runBegins({ keyId, id, held, runMs }: AdmittedRun & { runMs: number }): Promise<void> {
    const requests = reserveAgain(held, drivenMs(runMs));
    if (requests.length > 0) await this.#store.take({ key: keyId, id, lasting: true }, requests);
  }

  /**
   * Notes what a run has used so far: should its process die, this much is counted.
   * @throws GatewayError `store_unavailable`.
   */
  async runUsed({ keyId, id, held, runMs, used }: EndedRun & { runMs: number }): Promise<void> {
    const notes = notesOf({ holder: { key: keyId, id, lasting: true }, held }, used, drivenMs(runMs));
    if (notes.length > 0) await this.#store.note(notes);
  }

  /** Frees what an ended run held, whoever admitted it. False where the store is away: it is done when it is back. */
  async runEnded({ keyId, id, held, used }: EndedRun): Promise<boolean> {
    return await this.#settle({ key: keyId, id }, held, used);
  }

  async #settle(holder: LimitHolder, held: HeldLimits, used: Used): Promise<boolean> {
    return await this.#release(holder, releasesOf({ keyId: holder.key, held, used }, this.#fractions));
  }

  async #release(holder: LimitHolder, releases: readonly LimitRelease[]): Promise<boolean> {
    return releases.length === 0 || (await this.#store.giveBack(holder, releases));
  }
}

/** A call under way that holds tokens or money. */
interface OpenCall {
  holder: LimitHolder;
  held: HeldLimits;
  used(): Used;
  onNoted: ((used: Used) => void) | undefined;
  /** What was noted last. */
  lastNoted: string;
  skipped: number;
  isOver: boolean;
}

/** How long the places of a request are held where nobody frees them, in milliseconds. */
function heldMs({ runMs, waits = false }: AdmissionRequest): number {
  if (runMs === undefined) return CALL_MS;
  return waits ? WAITING_MS + drivenMs(runMs) : drivenMs(runMs);
}

/** How long a run is driven at most, in milliseconds: its answer is written after the time that it may last. */
export function drivenMs(runMs: number): number {
  return Math.ceil(runMs * 1.1) + ANSWER_MS;
}

/** Announces what is left of the rate limit. @throws GatewayError where one of the limits was refused. */
function checkResults(
  results: readonly LimitResult[],
  { limits, request }: { limits: readonly OwnedRequest[]; request: AdmissionRequest },
): void {
  for (let at = 0; at < limits.length; at++) {
    const [limit, result] = [limits[at], results[at]];
    if (!limit || !result) throw new Error(`the limit ${limit?.request.name} was not counted`);
    const { name, limit: most } = limit.request;
    const { granted, count } = result;
    const isOwn = limit.of.team === undefined;
    if (name === REQUESTS.name && count && isOwn) announceRequests(request, { limit: most, ...count });
    if (!granted) throw limitError(limit, result);
  }
}

function announceRequests(
  { res }: AdmissionRequest,
  { limit, used, resetMs }: { limit: number; used: number; resetMs: number },
): void {
  if (!res || res.headersSent) return;
  res.setHeader('x-ratelimit-limit-requests', String(limit));
  res.setHeader('x-ratelimit-remaining-requests', String(Math.max(0, limit - used)));
  res.setHeader('x-ratelimit-reset-requests', duration(resetMs));
}

/** A time as OpenAI writes it: `250ms`, `12s`, `1m0s`. */
function duration(ms: number): string {
  if (ms < 1000) return `${Math.ceil(ms)}ms`;
  const seconds = Math.ceil(ms / 1000);
  return seconds < 60 ? `${seconds}s` : `${Math.floor(seconds / 60)}m${seconds % 60}s`;
}
