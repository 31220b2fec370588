import type { Overview } from '../../protocol/operating/overview.ts';
import type { RecentActivity } from '../../store/instances.ts';
import type { AttemptReport } from '../../upstream/routing/attempts.ts';

/** A failure as operators see it, but with its time in milliseconds. It contains no text of clients or providers. */
export type RecentFailure = Overview['failures']['latest'][number];

/** Statistics of a provider's latest attempts. `p50` and `p95` are 0 if none succeeded. */
export type RecentAttempts = Omit<RecentActivity['attempts'][number], 'provider'>;

const MINUTE_MS = 60_000;
const MAX_MINUTES = 60;
/** How many first-token times of a minute are kept; later ones replace the oldest. */
const MAX_FIRST_TOKENS = 500;

/** How many failures are kept in all, and how many attempts of each provider. */
const MAX_FAILURES = 200;
const MAX_ATTEMPTS = 200;

interface MinuteOfProvider {
  /** The start of the minute, in Unix milliseconds. */
  at: number;
  attempts: number;
  failed: number;
  /** How often one of its circuits opened. */
  opened: number;
  /** Milliseconds to the first token of its streams. */
  firstTokens: number[];
  /** How many first tokens there were in all. */
  count: number;
}

interface Attempt {
  ok: boolean;
  ms: number;
}

/** Recent activity of this instance for the operator's page, in memory and bounded. Alerts should use the metrics. */
export class Activity {
  readonly #failures: RecentFailure[] = [];
  readonly #attempts = new Map<string, Attempt[]>();
  readonly #minutes = new Map<string, MinuteOfProvider[]>();

  recordFailure(failure: Partial<RecentFailure> & Pick<RecentFailure, 'at' | 'where' | 'code'>): void {
    this.#failures.push({ model: '', key: '', provider: '', status: 0, ...failure });
    if (this.#failures.length > MAX_FAILURES) this.#failures.shift();
  }

  recordAttempt(report: AttemptReport, at: number): void {
    const { provider, outcome, model, status = 0, opened } = report;
    if (opened) this.#minute(provider, at).opened += 1;
    if (outcome === 'left') return;
    const attempts = this.#attempts.getOrInsertComputed(provider, () => []);
    attempts.push({ ok: outcome === 'ok', ms: report.durationMs });
    if (attempts.length > MAX_ATTEMPTS) attempts.shift();
    const minute = this.#minute(provider, at);
    minute.attempts += 1;
    if (outcome === 'ok') return;
    minute.failed += 1;
    this.recordFailure({ at, where: 'provider', code: outcome, model, provider, status });
  }

  /** Records the time to the first token of a provider's stream, in milliseconds. */
  recordFirstToken(provider: string, ms: number, at: number): void {
    const minute = this.#minute(provider, at);
    minute.firstTokens[minute.count % MAX_FIRST_TOKENS] = ms;
    minute.count += 1;
  }

  /**
   * The minutes of the last hour in which a provider was called, oldest first. Percentiles: milliseconds to the first token
   * of its streams; 0 if there are none.
   */
  minutesOf(provider: string, now: number) {
    const minutes = this.#minutes.get(provider) ?? [];
    return minutes
      .filter(({ at }) => at > now - MAX_MINUTES * MINUTE_MS)
      .map(({ firstTokens, count: _, ...minute }) => ({ ...minute, ...percentiles(firstTokens) }));
  }

  #minute(provider: string, now: number): MinuteOfProvider {
    const at = Math.floor(now / MINUTE_MS) * MINUTE_MS;
    const minutes = this.#minutes.get(provider) ?? [];
    const last = minutes.at(-1);
    if (last?.at === at) return last;
    const minute = { at, attempts: 0, failed: 0, opened: 0, firstTokens: [], count: 0 };
    minutes.push(minute);
    if (minutes.length > MAX_MINUTES) minutes.shift();
    this.#minutes.set(provider, minutes);
    return minute;
  }

  /** The latest failures, newest first. */
  failures(limit: number): RecentFailure[] {
    return this.#failures.slice(-limit).reverse();
  }

  /** All kept failures by code, the most frequent first. */
  failuresByCode(): { code: string; where: RecentFailure['where']; count: number; lastAt: number }[] {
    const groups = Map.groupBy(this.#failures, ({ where, code }) => `${where} ${code}`);
    return [...groups.values()]
      .flatMap((failures) => {
        const last = failures.at(-1);
        return last ? [{ code: last.code, where: last.where, count: failures.length, lastAt: last.at }] : [];
      })
      .sort((a, b) => b.count - a.count);
  }

  /** A summary for other instances. */
  recent(): RecentActivity {
    const attempts = [...this.#attempts.keys()].map((provider) => ({ provider, ...this.attemptsOf(provider) }));
    return { attempts, failures: this.failuresByCode() };
  }

  attemptsOf(provider: string): RecentAttempts {
    const attempts = this.#attempts.get(provider) ?? [];
    const times = attempts.flatMap(({ ok, ms }) => (ok ? [ms] : []));
    return { attempts: attempts.length, failed: attempts.length - times.length, ...percentiles(times) };
  }
}

function percentiles(times: readonly number[]): { p50: number; p95: number } {
  const sorted = times.toSorted((a, b) => a - b);
  const at = (part: number) => Math.round(sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * part))] ?? 0);
  return { p50: at(0.5), p95: at(0.95) };
}
