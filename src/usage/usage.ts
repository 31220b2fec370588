import { randomUUID } from 'node:crypto';
import type { Registry } from 'prom-client';
import type { Clock } from '../base/clock.ts';
import { messageOf } from '../base/errors.ts';
import type { Logger } from '../base/logger.ts';
import { emptyUsage, type UsageLabels, type UsageRow, type UsageStore } from '../store/beside/usage-store.ts';
import { nothingUsed, type Used } from '../upstream/used.ts';
import { UsageMetrics } from './metrics.ts';

/** How long what was used stands in memory alone, in milliseconds. */
const BATCH_MS = 1000;
/** How long it is kept, in days. */
export const KEPT_DAYS = 400;
/** Rows that wait for a store that is away; of what comes then only the sums by key and model are kept. */
const MOST_ROWS = 20_000;
/** Tags of one key in a day; what has another one counts as this one. */
const MOST_TAGS = 1000;
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

/** One call, or one run. */
export interface UsedCall {
  /** Whose it was. An empty or absent team or tag is none. */
  labels: { key: string; team?: string | undefined; model: string; tag?: string | undefined };
  used: Used;
  failed: boolean;
}

/** A call under way. `used` is what it has used in all, so far or in the end. */
interface OpenUsage {
  /** Should this process die, so much is counted. */
  noted(used: Used): void;
  ended(used: Used, how: { failed: boolean }): void;
}

/**
 * What was used, by key, team, model, tag and day (docs/keys.md, "Usage"). It is folded from the accounts that limits are settled
 * by, kept in the store in batches of a second, and shown as metrics.
 */
export class UsageLog implements AsyncDisposable {
  readonly #options: UsageOptions;
  readonly #source = randomUUID();
  readonly #metrics: UsageMetrics;
  #rows = new Map<string, UsageRow>();
  /** What the store did not take yet; perhaps it did, and could not say so. */
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
    this.begin(labels).ended(used, { failed });
  }

  /** A call that may be counted while it is under way: it counts on the day of its first note, else of its end. */
  begin({ key, team = '', model, tag = '' }: UsedCall['labels']): OpenUsage {
    let labels: (UsageLabels & { day: string }) | undefined;
    /** What stands in its row by now. */
    let before: Used | undefined;
    const count = (used: Used, errors: number) => {
      if (!labels) {
        const day = dayOf(this.#options.clock.now());
        labels = { day, key, team, model, tag: this.#boundedTag(day, key, tag) };
      }
      const row = this.#rowOf(labels);
      if (!before) row.requests += 1;
      row.errors += errors;
      addUsed(row, used, before ?? nothingUsed());
      before = used;
      this.#soon();
    };
    return {
      noted: (used) => count(used, 0),
      ended: (used, { failed }) => {
        this.#metrics.add({ key, model, used, failed });
        count(used, failed ? 1 : 0);
      },
    };
  }

  /**
   * What was used on one day, as far as the store has it; `flush` writes the rest.
   * @throws GatewayError `store_unavailable`.
   */
  async day(day: string): Promise<UsageRow[]> {
    return await this.#options.store.read({ from: day, to: day });
  }

  /** Writes what stands in memory alone. A store that is away gets it with the next batch. */
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
      if (this.#rows.size > 0) await this.#store({ id: randomUUID(), rows: this.#taken() });
    } catch (thrown) {
      log.warn({ err: messageOf(thrown) }, 'what was used could not be stored; it is tried again');
      this.#soon();
      return;
    }
    const today = dayOf(clock.now());
    if (this.#day === today) return;
    this.#day = today;
    const first = dayOf(clock.now() - KEPT_DAYS * DAY_MS);
    await store.removeBefore(first).catch((thrown: unknown) => {
      log.warn({ err: messageOf(thrown) }, 'what was used long ago could not be removed');
    });
  }

  async #store(batch: Batch): Promise<void> {
    this.#batch = batch;
    await this.#options.store.add(batch.rows, { source: this.#source, id: batch.id });
    this.#batch = undefined;
  }

  #taken(): UsageRow[] {
    const rows = [...this.#rows.values()];
    this.#rows = new Map();
    return rows;
  }

  #soon(): void {
    this.#timer ??= setTimeout(() => void this.flush(), BATCH_MS).unref();
  }

  #rowOf(labels: UsageLabels & { day: string }): UsageRow {
    const { day, key, team, model } = labels;
    const tag = this.#rows.size < MOST_ROWS ? labels.tag : '';
    const name = `${day}\0${key}\0${team}\0${model}\0${tag}`;
    return this.#rows.getOrInsertComputed(name, () => emptyUsage({ day, key, team, model, tag }));
  }

  /** Clients choose tags: there are so many of a key in a day, as this process has seen them. */
  #boundedTag(day: string, key: string, tag: string): string {
    if (tag === '') return tag;
    const name = `${day} ${key}`;
    if (!this.#tags.has(name))
      for (const known of this.#tags.keys()) if (!known.startsWith(day)) this.#tags.delete(known);
    const tags = this.#tags.getOrInsertComputed(name, () => new Set());
    if (tags.size >= MOST_TAGS && !tags.has(tag)) return OTHER;
    tags.add(tag);
    return tag;
  }
}

/** Adds what was used beyond what was used before. */
function addUsed(row: UsageRow, used: Used, before: Used): void {
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
