import type { Overview } from '../../protocol/operating/overview.ts';
import type { RecentActivity } from '../../store/instances.ts';
import type { AttemptReport } from '../../upstream/routing/attempts.ts';

/** A failure as operators see it, but with its time in milliseconds: never a text that a client or provider wrote. */
export type RecentFailure = Overview['failures']['latest'][number];

/** How a provider's latest attempts went. */
export interface RecentAttempts {
  attempts: number;
  failed: number;
  /** Milliseconds to the end of an attempt; 0 without any that ended well. */
  p50: number;
  p95: number;
}

/** How a provider did in one minute; times in milliseconds to the first token of its streams, 0 without any. */
export interface Minute {
  /** When it began, Unix milliseconds. */
  at: number;
  attempts: number;
  failed: number;
  /** How often one of its circuits opened. */
  opened: number;
  p50: number;
  p95: number;
}

const MINUTE_MS = 60_000;
const KEPT_MINUTES = 60;
/** First tokens of a minute that are remembered; later ones replace the oldest. */
const KEPT_TOKENS = 500;

/** Failures and attempts that are remembered at most, of each provider and in all. */
const KEPT_FAILURES = 200;
const KEPT_ATTEMPTS = 200;

interface MinuteOfProvider {
  at: number;
  attempts: number;
  failed: number;
  opened: number;
  firstTokens: number[];
  /** First tokens in all. */
  count: number;
}

interface Attempt {
  ok: boolean;
  ms: number;
}

/** What this instance did lately, in memory and bounded, for the operator's page. Counters for alerts are metrics. */
export class Activity {
  readonly #failures: RecentFailure[] = [];
  readonly #attempts = new Map<string, Attempt[]>();
  readonly #minutes = new Map<string, MinuteOfProvider[]>();

  failed(failure: Partial<RecentFailure> & Pick<RecentFailure, 'at' | 'where' | 'code'>): void {
    this.#failures.push({ model: '', key: '', provider: '', status: 0, ...failure });
    if (this.#failures.length > KEPT_FAILURES) this.#failures.shift();
  }

  attempt(report: AttemptReport, at: number): void {
    const { provider, outcome, model, status = 0, opened } = report;
    if (opened) this.#minute(provider, at).opened += 1;
    if (outcome === 'left') return;
    const known = this.#attempts.get(provider) ?? [];
    known.push({ ok: outcome === 'ok', ms: report.durationMs });
    if (known.length > KEPT_ATTEMPTS) known.shift();
    this.#attempts.set(provider, known);
    const minute = this.#minute(provider, at);
    minute.attempts += 1;
    if (outcome !== 'ok') minute.failed += 1;
    if (outcome !== 'ok') this.failed({ at, where: 'provider', code: outcome, model, provider, status });
  }

  /** A provider's stream took so long to its first token, in milliseconds. */
  firstToken(provider: string, ms: number, at: number): void {
    const minute = this.#minute(provider, at);
    minute.firstTokens[minute.count % KEPT_TOKENS] = ms;
    minute.count += 1;
  }

  /** The minutes of the last hour in which a provider was asked, oldest first. */
  minutesOf(provider: string, now: number): Minute[] {
    const known = this.#minutes.get(provider) ?? [];
    return known
      .filter(({ at }) => at > now - KEPT_MINUTES * MINUTE_MS)
      .map(({ firstTokens, count: _, ...minute }) => ({ ...minute, ...percentiles(firstTokens) }));
  }

  #minute(provider: string, now: number): MinuteOfProvider {
    const at = Math.floor(now / MINUTE_MS) * MINUTE_MS;
    const known = this.#minutes.get(provider) ?? [];
    const last = known.at(-1);
    if (last?.at === at) return last;
    const minute = { at, attempts: 0, failed: 0, opened: 0, firstTokens: [], count: 0 };
    known.push(minute);
    if (known.length > KEPT_MINUTES) known.shift();
    this.#minutes.set(provider, known);
    return minute;
  }

  /** The latest failures, newest first. */
  failures(limit: number): RecentFailure[] {
    return this.#failures.slice(-limit).reverse();
  }

  /** All remembered failures by code, the most frequent first. */
  failuresByCode(): { code: string; where: RecentFailure['where']; count: number; lastAt: number }[] {
    const groups = Map.groupBy(this.#failures, ({ where, code }) => `${where} ${code}`);
    return [...groups.values()]
      .flatMap((failures) => {
        const last = failures.at(-1);
        return last ? [{ code: last.code, where: last.where, count: failures.length, lastAt: last.at }] : [];
      })
      .sort((a, b) => b.count - a.count);
  }

  /** All of it in figures, for other instances. */
  recent(): RecentActivity {
    const attempts = [...this.#attempts.keys()].map((provider) => ({ provider, ...this.attemptsOf(provider) }));
    return { attempts, failures: this.failuresByCode() };
  }

  attemptsOf(provider: string): RecentAttempts {
    const known = this.#attempts.get(provider) ?? [];
    const times = known.flatMap(({ ok, ms }) => (ok ? [ms] : []));
    return { attempts: known.length, failed: known.length - times.length, ...percentiles(times) };
  }
}

function percentiles(times: readonly number[]): { p50: number; p95: number } {
  const sorted = times.toSorted((a, b) => a - b);
  const at = (part: number) => Math.round(sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * part))] ?? 0);
  return { p50: at(0.5), p95: at(0.95) };
}
