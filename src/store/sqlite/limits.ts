import type { DatabaseSync } from 'node:sqlite';
import type { Clock } from '../../base/clock.ts';
import { messageOf } from '../../base/errors.ts';
import type { Logger } from '../../base/logger.ts';
import { composeLimitStore } from '../compose-limit-store.ts';
import { Holds } from '../holds.ts';
import type { CounterWindow, LimitStore } from '../limit-store.ts';
import { MemoryBudget, MemoryCounter, MemorySlots } from '../memory-limits.ts';
import { integer, text } from './rows.ts';
import type { Writer } from './writer.ts';

/** How long the usage of calls may exist in memory only, in milliseconds. */
const BATCH_MS = 500;

export interface SqliteLimitsOptions {
  writer: Writer;
  log: Logger;
  /** The wall clock, for stored times. */
  clock: Clock;
  /** The monotonic clock, for times in memory; corrections of the wall clock do not move it. */
  steady: Clock;
}

/**
 * Limits that are counted in memory and stored in the database. What runs reserve, use and release is written before
 * the next write of their log; what calls use, within half a second. Windows of a minute are not stored.
 */
export class SqliteLimits {
  readonly store: LimitStore;
  readonly #options: SqliteLimitsOptions;
  readonly #statements;
  readonly #budgets = new Map<string, MemoryBudget>();
  readonly #holds = new Map<string, Holds>();
  /** Holds, and windows (entries without an id), that have changed since they were last written. */
  #changed = new Map<string, { name: string; key: string; id?: string }>();
  #timer: NodeJS.Timeout | undefined;
  #isQueued = false;
  #isClosed = false;

  constructor(db: DatabaseSync, options: SqliteLimitsOptions) {
    this.#options = options;
    this.#statements = prepareStatements(db);
    this.store = composeLimitStore({
      counter: ({ windowSeconds }) => new MemoryCounter(windowSeconds, options.steady.now),
      slots: ({ name }) => new MemorySlots(this.#holdsOf(name)),
      budget: (window) => this.#budget(window),
    });
  }

  /** Hands what is in memory only to the last transaction of the writer. */
  close(): void {
    void this.flush();
    this.#isClosed = true;
    clearTimeout(this.#timer);
  }

  /** Writes all changes in the transaction of this turn of the event loop. Never rejects. */
  async flush(): Promise<void> {
    clearTimeout(this.#timer);
    this.#timer = undefined;
    if (this.#isQueued || this.#changed.size === 0) return;
    this.#isQueued = true;
    try {
      await this.#options.writer.run((transaction) => {
        this.#isQueued = false;
        const changed = this.#changed;
        transaction.onRollback(() => {
          this.#changed = new Map([...changed, ...this.#changed]);
        });
        this.#changed = new Map();
        for (const { name, key, id } of changed.values()) {
          if (id === undefined) this.#writeWindow(name, key);
          else this.#writeHold(name, { key, id });
        }
      });
    } catch (thrown) {
      this.#isQueued = false;
      if (this.#isClosed) return;
      this.#options.log.warn({ err: messageOf(thrown) }, 'the usage of keys could not be stored; retrying');
      this.#scheduleFlush();
    }
  }

  #budget({ name, windowSeconds }: CounterWindow): MemoryBudget {
    const { steady } = this.#options;
    const budget = new MemoryBudget(windowSeconds, {
      now: steady.now,
      holds: this.#holdsOf(name),
      onChange: (key) => {
        this.#changed.set(`${name} ${key}`, { name, key });
        this.#scheduleFlush();
      },
    });
    this.#budgets.set(name, budget);
    for (const row of this.#statements.windows.all(name)) {
      const endsAt = this.#toSteadyClock(integer(row, 'ends_at'), windowSeconds * 1000);
      budget.restore(text(row, 'key'), { used: integer(row, 'used'), endsAt });
    }
    return budget;
  }

  #holdsOf(name: string): Holds {
    const known = this.#holds.get(name);
    if (known) return known;
    const holds = new Holds(this.#options.steady.now);
    this.#holds.set(name, holds);
    for (const row of this.#statements.holds.all(name)) {
      const until = this.#toSteadyClock(integer(row, 'until'), Number.MAX_SAFE_INTEGER);
      const [points, spent] = [integer(row, 'points'), integer(row, 'spent')];
      holds.restore(text(row, 'key'), text(row, 'id'), { points, spent, until, lasting: true });
    }
    holds.onChange = (key, id, { lasting }) => {
      if (!lasting) return;
      this.#changed.set(`${name} ${key} ${id}`, { name, key, id });
      void this.flush();
    };
    return holds;
  }

  #scheduleFlush(): void {
    if (this.#isClosed) return;
    this.#timer ??= setTimeout(() => void this.flush(), BATCH_MS).unref();
  }

  #writeWindow(name: string, key: string): void {
    const window = this.#budgets.get(name)?.window(key);
    if (window) this.#statements.putWindow.run(name, key, window.used, this.#toWallClock(window.endsAt));
  }

  #writeHold(name: string, { key, id }: { key: string; id: string }): void {
    const hold = this.#holds.get(name)?.get(key, id);
    if (!hold) this.#statements.removeHold.run(name, key, id);
    else this.#statements.putHold.run(name, key, id, hold.points, hold.spent, this.#toWallClock(hold.until));
  }

  #toWallClock(steady: number): number {
    return Math.ceil(steady - this.#options.steady.now() + this.#options.clock.now());
  }

  /** Converts a stored time, to at most `maxMs` from now. */
  #toSteadyClock(stored: number, maxMs: number): number {
    const now = this.#options.steady.now();
    return Math.min(now + maxMs, stored - this.#options.clock.now() + now);
  }
}

/** First settles holds of runs that have ended or never started, which the process did not do before it died. */
function prepareStatements(db: DatabaseSync) {
  const isOver = 'NOT EXISTS (SELECT 1 FROM runs WHERE runs.id = limit_holds.id AND runs.ended_at IS NULL)';
  const ofWindow = 'limit_holds.name = limit_windows.name AND limit_holds.key = limit_windows.key';
  db.exec(`
    BEGIN;
    UPDATE limit_windows SET used = used + (SELECT sum(spent) FROM limit_holds WHERE ${ofWindow} AND ${isOver})
    WHERE EXISTS (SELECT 1 FROM limit_holds WHERE ${ofWindow} AND ${isOver});
    DELETE FROM limit_holds WHERE ${isOver};
    COMMIT;`);
  return {
    windows: db.prepare('SELECT key, used, ends_at FROM limit_windows WHERE name = ?'),
    holds: db.prepare('SELECT key, id, points, spent, until FROM limit_holds WHERE name = ?'),
    putWindow: db.prepare(`
      INSERT INTO limit_windows (name, key, used, ends_at) VALUES (?, ?, ?, ?)
      ON CONFLICT (name, key) DO UPDATE SET used = excluded.used, ends_at = excluded.ends_at`),
    putHold: db.prepare(`
      INSERT INTO limit_holds (name, key, id, points, spent, until) VALUES (?, ?, ?, ?, ?, ?)
      ON CONFLICT (name, key, id) DO UPDATE
        SET points = excluded.points, spent = excluded.spent, until = excluded.until`),
    removeHold: db.prepare('DELETE FROM limit_holds WHERE name = ? AND key = ? AND id = ?'),
  };
}
