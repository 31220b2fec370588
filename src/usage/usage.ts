import { randomUUID } from 'node:crypto';
import type { Registry } from 'prom-client';
import type { Clock } from '../base/clock.ts';
import { messageOf } from '../base/errors.ts';
import type { Logger } from '../base/logger.ts';
import { emptyUsage, type UsageLabels, type UsageRow, type UsageStore } from '../store/side-stores/usage-store.ts';
import { emptyTotals, type UsageTotals } from '../upstream/usage-totals.ts';
import { UsageMetrics } from './metrics.ts';

/** How long usage stays only in memory, in milliseconds: a process that is killed loses it. */
const BATCH_MS = 100;
/** When a store that is away is asked again, in milliseconds. */
const RETRY_MS = 1000;
/** How long usage is retained, in days. */
export const RETENTION_DAYS = 400;
/** How many rows may wait while the store is away; beyond that, tags are dropped. */
const MAX_ROWS = 20_000;
/** How many tags a key may use in a day; further ones count as `OTHER`. */
const MAX_TAGS = 1000;
const OTHER = 'other';
const DAY_MS = 86_400_000;

export interface UsageOptions {
  store: UsageStore;
  registry: Registry;
  clock: Clock;
  log: Logger;
}

/** Rows that are stored together, under one id. */
interface Batch {
  id: string;
  rows: readonly UsageRow[];
}

/** What a row counts. `day`: in days since 1970, in UTC. */
type DayLabels = UsageLabels & { day: number };

/** The usage of one call or run. */
export interface UsedCall {
  /** What it is counted under. An empty team or tag is the same as none. */
  labels: { key: string; team?: string | undefined; model: string; tag?: string | undefined };
  used: UsageTotals;
  failed: boolean;
}

/** A call under way. `used` is always its total so far. */
interface OpenUsage {
  /** Counts the usage so far, in case this process dies. */
  update(used: UsageTotals): void;
  end(used: UsageTotals, how: { failed: boolean }): void;
}

/**
 * Counts usage by key, team, model, tag and day (docs/keys.md, "Usage"), from the same accounts that settle limits. Writes it
 * to the store ten times a second, and exposes it as metrics.
 */
export class UsageLog implements AsyncDisposable {
  readonly #options: UsageOptions;
  readonly #source = randomUUID();
  readonly #metrics: UsageMetrics;
  #rows = new Map<string, UsageRow>();
  /** The batch that the store has not confirmed; it may have stored it without being able to say so. */
  #batch: Batch | undefined;
  #tags = new Map<string, Set<string>>();
  #day = '';
  #timer: NodeJS.Timeout | undefined;
  #writing: Promise<void> = Promise.resolve();

  constructor(options: UsageOptions) {
    this.#options = options;
    this.#metrics = new UsageMetrics(options.registry);
  }

  /** Counts a call that has ended. */
  add({ labels, used, failed }: UsedCall): void {
    this.begin(labels).end(used, { failed });
  }

  /** Begins a call that can be counted while it is under way. It counts for the day when it is first counted. */
  begin({ key, team = '', model, tag = '' }: UsedCall['labels']): OpenUsage {
    let labels: DayLabels | undefined;
    /** What its row includes so far. */
    let counted: UsageTotals | undefined;
    const count = (used: UsageTotals, errors: number) => {
      if (!labels) {
        const day = Math.floor(this.#options.clock.now() / DAY_MS);
        labels = { day, key, team, model, tag: this.#boundedTag(day, key, tag) };
      }
      const row = this.#rowOf(labels);
      if (!counted) row.requests += 1;
      row.errors += errors;
      addUsed(row, used, counted ?? emptyTotals());
      counted = used;
      this.#scheduleFlush();
    };
    return {
      update: (used) => count(used, 0),
      end: (used, { failed }) => {
        this.#metrics.add({ key, model, used, failed });
        count(used, failed ? 1 : 0);
      },
    };
  }

  /**
   * The usage of one day, as far as it is stored; `flush` writes the rest.
   * @throws GatewayError `store_unavailable`.
   */
  async day(day: string): Promise<UsageRow[]> {
    return await this.#options.store.read({ from: day, to: day });
  }

  /** Writes what is only in memory. A store that is away gets it with the next batch. */
  flush(): Promise<void> {
    this.#writing = this.#writing.then(() => this.#write());
    return this.#writing;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    clearTimeout(this.#timer);
    await this.flush();
    clearTimeout(this.#timer);
  }

  async #write(): Promise<void> {
    clearTimeout(this.#timer);
    this.#timer = undefined;
    const { store, clock, log } = this.#options;
    if (!this.#batch && this.#rows.size === 0) return;
    try {
      if (this.#batch) await this.#store(this.#batch);
      if (this.#rows.size > 0) await this.#store({ id: randomUUID(), rows: this.#takeRows() });
    } catch (thrown) {
      log.warn({ err: messageOf(thrown) }, 'usage could not be stored; retrying');
      this.#scheduleFlush(RETRY_MS);
      return;
    }
    const today = dayOf(clock.now());
    if (this.#day === today) return;
    this.#day = today;
    const first = dayOf(clock.now() - RETENTION_DAYS * DAY_MS);
    await store.removeBefore(first).catch((thrown: unknown) => {
      log.warn({ err: messageOf(thrown) }, 'old usage could not be removed');
    });
  }

  async #store(batch: Batch): Promise<void> {
    this.#batch = batch;
    await this.#options.store.add(batch.rows, { source: this.#source, id: batch.id });
    this.#batch = undefined;
  }

  #takeRows(): UsageRow[] {
    const rows = [...this.#rows.values()];
    this.#rows = new Map();
    return rows;
  }

  #scheduleFlush(ms = BATCH_MS): void {
    this.#timer ??= setTimeout(() => void this.flush(), ms).unref();
  }

  #rowOf(labels: DayLabels): UsageRow {
    const { day, key, team, model } = labels;
    const tag = this.#rows.size < MAX_ROWS ? labels.tag : '';
    const name = `${day}\0${key}\0${team}\0${model}\0${tag}`;
    return this.#rows.getOrInsertComputed(name, () => emptyUsage({ day: dayOf(day * DAY_MS), key, team, model, tag }));
  }

  /** The tag, or `OTHER` if the key has used too many today: clients choose tags, so this process bounds them. */
  #boundedTag(day: number, key: string, tag: string): string {
    if (tag === '') return tag;
    const name = `${day} ${key}`;
    if (!this.#tags.has(name))
      for (const known of this.#tags.keys()) if (!known.startsWith(`${day} `)) this.#tags.delete(known);
    const tags = this.#tags.getOrInsertComputed(name, () => new Set());
    if (tags.size >= MAX_TAGS && !tags.has(tag)) return OTHER;
    tags.add(tag);
    return tag;
  }
}

function addUsed(row: UsageRow, used: UsageTotals, before: UsageTotals): void {
  row.input_tokens += used.inputTokens - before.inputTokens;
  row.cached_tokens += used.cachedTokens - before.cachedTokens;
  row.output_tokens += used.outputTokens - before.outputTokens;
  row.reasoning_tokens += used.reasoningTokens - before.reasoningTokens;
  row.cost_nanos += nanos(used.cost) - nanos(before.cost);
}

function nanos(cost: number): number {
  return Math.round(cost * 1e9);
}

/** A day in UTC, as `2026-11-23`. `at`: Unix milliseconds. */
export function dayOf(at: number): string {
  return new Date(at).toISOString().slice(0, 10);
}
