import type { RecentActivity } from '../../store/instances.ts';
import type { AttemptReport } from '../../upstream/routing/attempts.ts';

/** A failure as operators see it: what and where, never a text that a client or provider wrote. */
export interface RecentFailure {
  /** Unix milliseconds. */
  at: number;
  /** Where it showed: in an answer to a request, at the end of a run, or in an attempt at a provider. */
  where: 'request' | 'run' | 'provider';
  /** Error code, or the kind of an attempt's failure. */
  code: string;
  model: string;
  /** Id of the API key; empty where none was accepted. */
  key: string;
  provider: string;
  /** HTTP status of the provider, 0 if there was none. */
  status: number;
}

/** How a provider's latest attempts went. */
export interface RecentAttempts {
  attempts: number;
  failed: number;
  /** Milliseconds to the end of an attempt; 0 without any that ended well. */
  p50: number;
  p95: number;
}

/** Failures and attempts that are remembered at most, of each provider and in all. */
const KEPT_FAILURES = 200;
const KEPT_ATTEMPTS = 200;

interface Attempt {
  ok: boolean;
  ms: number;
}

/** What this instance did lately, in memory and bounded, for the operator's page. Counters for alerts are metrics. */
export class Activity {
  readonly #failures: RecentFailure[] = [];
  readonly #attempts = new Map<string, Attempt[]>();

  failed(failure: Partial<RecentFailure> & Pick<RecentFailure, 'at' | 'where' | 'code'>): void {
    this.#failures.push({ model: '', key: '', provider: '', status: 0, ...failure });
    if (this.#failures.length > KEPT_FAILURES) this.#failures.shift();
  }

  attempt(report: AttemptReport, at: number): void {
    const { provider, outcome, model, status = 0 } = report;
    if (outcome === 'left') return;
    const known = this.#attempts.get(provider) ?? [];
    known.push({ ok: outcome === 'ok', ms: report.durationMs });
    if (known.length > KEPT_ATTEMPTS) known.shift();
    this.#attempts.set(provider, known);
    if (outcome !== 'ok') this.failed({ at, where: 'provider', code: outcome, model, provider, status });
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
    const times = known.flatMap(({ ok, ms }) => (ok ? [ms] : [])).sort((a, b) => a - b);
    const at = (part: number) => Math.round(times[Math.min(times.length - 1, Math.floor(times.length * part))] ?? 0);
    return { attempts: known.length, failed: known.length - times.length, p50: at(0.5), p95: at(0.95) };
  }
}
