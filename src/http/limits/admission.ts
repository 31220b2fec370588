import { randomBytes } from 'node:crypto';
import type { ServerResponse } from 'node:http';
import type { RunId } from '../../base/ids.ts';
import { UnorderedList } from '../../base/load/unordered-list.ts';
import { inSpan } from '../../base/telemetry/spans.ts';
import type { GatewayConfig, KeyConfig } from '../../config/schema.ts';
import type { RunReservation } from '../../runs/stored/request-schema.ts';
import { takeOne } from '../../store/compose-limit-store.ts';
import {
  type LimitHolder,
  type LimitNote,
  type LimitRelease,
  type LimitRequest,
  type LimitResult,
  type LimitStore,
  releaseOf,
} from '../../store/limit-store.ts';
import { emptyTotals, totalTokens, type UsageTotals } from '../../upstream/usage-totals.ts';
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
import type { LostHolds } from './lost-holds.ts';

/** A run, with what it has reserved of its key's limits. */
interface AdmittedRun {
  id: RunId;
  keyId: string;
  held: RunReservation;
}

/** A request that is to be counted against the limits of its key. */
export interface AdmissionRequest {
  key: KeyConfig;
  /** Id of the run, under which its reservation is released. Absent for requests that are no runs. */
  id?: string;
  /** How long a run may research before it answers, in milliseconds; absent for requests that are no runs. */
  runMs?: number;
  /** Whether the run waits in the queue before it starts. */
  waits?: boolean;
  /** The most tokens that the request is expected to use; absent if it uses none. */
  tokens?: number | undefined;
  /** The most that the request is expected to cost; absent if its routes have no price. */
  cost?: number | undefined;
  /** Gets the `x-ratelimit-*` headers, even if the request is refused; absent on a WebSocket. */
  res?: ServerResponse | undefined;
  /** What a request that is no run has used so far. It is noted every second, in case this process dies. */
  usedSoFar?: () => UsageTotals;
  /** Called with each usage that is noted. */
  onNoted?: (used: UsageTotals) => void;
}

/** An admitted request. Only the first call of `undo` or `settle` counts; runs are settled by `settleRun` with `held`. */
export interface AdmittedRequest {
  held: RunReservation;
  /** Releases everything: the request was refused for another reason, so nothing of it counts. */
  undo(): Promise<unknown>;
  /** Ends the request: its reservation is released, and `used` (absent: nothing) is counted. */
  settle(used?: UsageTotals): Promise<unknown>;
}

/** How often the usage of calls in progress is noted, in milliseconds. */
const NOTE_MS = 1000;
/** A call whose usage has not changed is noted only every so many times, to keep its reservation alive. */
const UNCHANGED_NOTES = 60;
/** A call that was not noted for this long has lost its process, and its reservation expires, in milliseconds. */
const CALL_MS = 600_000;
/**
 * How long a waiting run is counted, in milliseconds; after that it is not counted again until it starts. Long, because it
 * waits for runs that may take long; not longer, because if its process dies before the run is stored, its place is lost
 * for this time.
 */
const WAITING_MS = 86_400_000;
/** How long an answer may take, with retries, beyond a tenth of its run's time, in milliseconds. */
const ANSWER_MS = 600_000;
/** Admits requests under the limits of API keys, and releases reservations (docs/operating.md, "Limits"). */
export class Admission {
  readonly #store: LimitStore;
  readonly #teams: () => GatewayConfig['teams'];
  readonly #lostHolds: Pick<LostHolds, 'release'> | undefined;
  /** Prefix of the ids of requests that are no runs, unique to this instance. */
  readonly #ids = randomBytes(6).toString('base64url');
  readonly #calls = new UnorderedList<OpenCall>();
  readonly #fractions = new Fractions();
  #noting: NodeJS.Timeout | undefined;
  #counter = 0;

  /** `teams`: those of the current configuration. */
  constructor(
    store: LimitStore,
    teams: () => GatewayConfig['teams'] = () => ({}),
    lostHolds?: Pick<LostHolds, 'release'>,
  ) {
    this.#store = store;
    this.#teams = teams;
    this.#lostHolds = lostHolds;
  }

  /**
   * Counts a request; a refused one uses up nothing. Limits that can be released are checked first, so that a request
   * refused for concurrency does not use up the rate limit. All of them are checked in one call of the store.
   * @throws GatewayError `concurrency_limit_exceeded`, `quota_exceeded`, `rate_limit_exceeded`, `store_unavailable`.
   */
  async admit(request: AdmissionRequest): Promise<AdmittedRequest> {
    const { key, id = `${this.#ids}-${++this.#counter}`, tokens, cost, runMs } = request;
    const isRun = runMs !== undefined;
    const limits = limitsOf(ownersOf(key, this.#teams()), { tokens, cost, isRun, ttlMs: reservationMs(request) });
    const holder = { key: key.id, id, lasting: isRun };
    if (limits.length > 0) {
      const requests = limits.map((limit) => limit.request);
      const take = () => inSpan({ name: 'store limits' }, () => this.#store.take(holder, requests));
      let results = await take();
      while (await this.#releaseLost(holder, requests[results.length - 1], results.at(-1))) results = await take();
      checkResults(results, { limits, request });
    }
    return this.#reservationOf(request, { holder, limits });
  }

  /** Releases what a dead process holds of the limit that refused. @returns whether it is worth asking again. */
  async #releaseLost(holder: LimitHolder, last?: LimitRequest, result?: LimitResult): Promise<boolean> {
    if (!this.#lostHolds || !last || last.kind === 'points' || result?.granted !== false) return false;
    if (last.kind === 'budget' && !result.reservedByOthers) return false;
    return await this.#lostHolds.release(last, last.owner ?? holder.key);
  }

  #reservationOf(
    { usedSoFar, onNoted }: AdmissionRequest,
    { holder, limits }: { holder: LimitHolder; limits: readonly OwnedRequest[] },
  ): AdmittedRequest {
    const held = reservedBy(limits);
    const used = usedSoFar ?? emptyTotals;
    const call: OpenCall = { holder, held, used, onNoted, lastNoted: '', skipped: 0, isOver: false, place: undefined };
    if (usedSoFar && limits.some(({ request }) => request.kind === 'budget')) {
      call.place = this.#calls.add(call);
      this.#noting ??= setInterval(() => this.#noteCalls(), NOTE_MS).unref();
    }
    const releases = () => limits.map((limit) => releaseOf(limit.request));
    return {
      held,
      undo: async () => this.#endOnce(call) && (await this.#release(holder, releases())),
      settle: async (used = emptyTotals()) => this.#endOnce(call) && (await this.#settle(holder, held, used)),
    };
  }

  /** Marks a call as ended. False if it was already. */
  #endOnce(call: OpenCall): boolean {
    if (call.isOver) return false;
    call.isOver = true;
    call.place?.[Symbol.dispose]();
    return true;
  }

  #noteCalls(): void {
    if (this.#calls.size === 0) {
      clearInterval(this.#noting);
      this.#noting = undefined;
      return;
    }
    const notes: LimitNote[] = [];
    for (const { item: call } of this.#calls.places()) {
      const used = call.used();
      const current = `${totalTokens(used)} ${used.cost}`;
      call.skipped = current === call.lastNoted ? call.skipped + 1 : 0;
      if (call.skipped % UNCHANGED_NOTES > 0) continue;
      call.lastNoted = current;
      call.onNoted?.(used);
      notes.push(...notesOf(call, used, CALL_MS));
    }
    // When the store is unavailable, the next note makes up for this one.
    if (notes.length > 0) this.#store.note(notes).catch(() => {});
  }

  /** The current usage of the limits that a key has, for operators, without what lost runs hold. */
  async usage(key: KeyConfig): Promise<{ name: string; limit: number; used: number }[]> {
    const usage: { name: string; limit: number; used: number }[] = [];
    for (const { limits, owner = key.id, team } of ownersOf(key, this.#teams())) {
      const { requests_per_minute: requests, concurrent_runs: runs } = limits;
      const labelOf = (name: string) => (team === undefined ? name : `team ${name}`);
      if (requests !== undefined) {
        // Adding nothing to a counter reads it.
        const { used } = await this.#store.counter(REQUESTS).take(owner, 0, { limit: 0, force: true });
        usage.push({ name: labelOf('requests_per_minute'), limit: requests, used });
      }
      if (runs !== undefined) {
        await this.#lostHolds?.release({ kind: 'place', name: RUNS }, owner);
        const used = await this.#store.slots({ name: RUNS }).count(owner);
        usage.push({ name: labelOf('concurrent_runs'), limit: runs, used });
      }
      for (const { setting, window, of } of BUDGETS) {
        const limit = limits[setting];
        if (limit === undefined) continue;
        await this.#lostHolds?.release({ kind: 'budget', ...window }, owner);
        const { used } = await this.#store.budget(window).used(owner);
        usage.push({ name: labelOf(setting), limit, used: used / POINTS[of](1) });
      }
    }
    return usage;
  }

  /**
   * Renews the reservation of a run that starts, or that another process drove before. It may then last its full time,
   * however many other runs there are.
   * @throws GatewayError `store_unavailable`.
   */
  async renewRun({ keyId, id, held, runMs }: AdmittedRun & { runMs: number }): Promise<void> {
    const holder = { key: keyId, id, lasting: true };
    // Not together: what is taken together is released if a part fails or comes late, and the run would be free.
    await Promise.all(reserveAgain(held, drivenMs(runMs)).map((limit) => takeOne(this.#store, holder, limit)));
  }

  /**
   * Notes what a run has used so far, which is counted if its process dies.
   * @throws GatewayError `store_unavailable`.
   */
  async noteRunUsage({
    keyId,
    id,
    held,
    runMs,
    used,
  }: AdmittedRun & { runMs: number; used: UsageTotals }): Promise<void> {
    const notes = notesOf({ holder: { key: keyId, id, lasting: true }, held }, used, drivenMs(runMs));
    if (notes.length > 0) await this.#store.note(notes);
  }

  /**
   * Settles an ended run, whoever admitted it. Without `used`, what was noted last counts. False if the store is
   * unavailable, and does it once it is back.
   */
  async settleRun({ keyId, id, held, used }: AdmittedRun & { used: UsageTotals | undefined }): Promise<boolean> {
    return await this.#settle({ key: keyId, id }, held, used);
  }

  #settle(holder: LimitHolder, held: RunReservation, used: UsageTotals | undefined): Promise<boolean> {
    return this.#release(holder, releasesOf({ keyId: holder.key, held, used }, this.#fractions));
  }

  #release(holder: LimitHolder, releases: readonly LimitRelease[]): Promise<boolean> {
    return releases.length === 0 ? Promise.resolve(true) : this.#store.release(holder, releases);
  }
}

/** A call in progress that has reserved tokens or money. */
interface OpenCall {
  holder: LimitHolder;
  held: RunReservation;
  used(): UsageTotals;
  onNoted: ((used: UsageTotals) => void) | undefined;
  lastNoted: string;
  skipped: number;
  isOver: boolean;
  /** Where it stands among the calls whose usage is noted. */
  place: Disposable | undefined;
}

/** When the reservation of a request expires if nobody releases it, in milliseconds. */
function reservationMs({ runMs, waits = false }: AdmissionRequest): number {
  if (runMs === undefined) return CALL_MS;
  return waits ? WAITING_MS + drivenMs(runMs) : drivenMs(runMs);
}

/** How long a run may be driven, in milliseconds: the answer is written after the time for its research. */
export function drivenMs(runMs: number): number {
  return Math.ceil(runMs * 1.1) + ANSWER_MS;
}

/** Sets the headers of the rate limit. @throws GatewayError if one of the limits was refused. */
function checkResults(
  results: readonly LimitResult[],
  { limits, request }: { limits: readonly OwnedRequest[]; request: AdmissionRequest },
): void {
  for (const [index, limit] of limits.entries()) {
    const result = results[index];
    if (!result) throw new Error(`the limit ${limit.request.name} was not counted`);
    const { name, limit: max } = limit.request;
    const { granted, count } = result;
    const isOwn = limit.owner.team === undefined;
    if (name === REQUESTS.name && count && isOwn) announceRequests(request, { limit: max, ...count });
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
