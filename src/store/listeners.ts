import type { RunId } from '../base/ids.ts';
import type { Append, LogBatch, LogHandlers } from './run-store.ts';

/** Subscribers to the logs of runs in this process. Handlers must not throw. */
export class LogListeners {
  readonly #byRun = new Map<RunId, Set<LogHandlers>>();

  add(id: RunId, handlers: LogHandlers): Disposable {
    const all = this.#byRun.get(id) ?? new Set();
    this.#byRun.set(id, all);
    // A wrapper of its own, so that the same handlers can be added twice and removed once.
    const entry: LogHandlers = { onBatch: (batch) => handlers.onBatch(batch), onGap: () => handlers.onGap() };
    all.add(entry);
    return {
      [Symbol.dispose]: () => {
        all.delete(entry);
        if (all.size === 0 && this.#byRun.get(id) === all) this.#byRun.delete(id);
      },
    };
  }

  has(id: RunId): boolean {
    return this.#byRun.has(id);
  }

  batch(id: RunId, batch: LogBatch): void {
    const all = this.#byRun.get(id);
    if (all) for (const handlers of [...all]) handlers.onBatch(batch);
  }

  /** The same of a batch that was appended here. */
  appended(id: RunId, { first, count, frames, end }: Append): void {
    if (count > 0) this.batch(id, { first, last: first + count - 1, frames, end: end !== undefined });
  }

  gap(id: RunId): void {
    const all = this.#byRun.get(id);
    if (all) for (const handlers of [...all]) handlers.onGap();
  }

  gapEverywhere(): void {
    for (const id of [...this.#byRun.keys()]) this.gap(id);
  }
}

/** Listeners in this process. They must not throw. */
export class Listeners<News = void> {
  readonly #all = new Set<(news: News) => void>();

  add(listener: (news: News) => void): Disposable {
    // A wrapper of its own, as above.
    const entry = (news: News) => listener(news);
    this.#all.add(entry);
    return { [Symbol.dispose]: () => void this.#all.delete(entry) };
  }

  tell(news: News): void {
    for (const listener of [...this.#all]) listener(news);
  }
}
