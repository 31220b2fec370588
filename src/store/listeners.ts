import type { RunId } from '../base/ids.ts';
import type { AppendBatch, LogBatch, LogHandlers } from './run-store.ts';

/** Subscribers to the logs of runs in this process. Handlers must not throw. */
export class LogListeners {
  readonly #byRun = new Map<RunId, Set<LogHandlers>>();

  add(id: RunId, handlers: LogHandlers): Disposable {
    const handlersOfRun = this.#byRun.getOrInsertComputed(id, () => new Set());
    // Wrapped, so that the same handlers can be added twice and removed once.
    const entry: LogHandlers = { onBatch: (batch) => handlers.onBatch(batch), onGap: () => handlers.onGap() };
    handlersOfRun.add(entry);
    return {
      [Symbol.dispose]: () => {
        handlersOfRun.delete(entry);
        if (handlersOfRun.size === 0 && this.#byRun.get(id) === handlersOfRun) this.#byRun.delete(id);
      },
    };
  }

  has(id: RunId): boolean {
    return this.#byRun.has(id);
  }

  emitBatch(id: RunId, batch: LogBatch): void {
    const all = this.#byRun.get(id);
    if (all) for (const handlers of [...all]) handlers.onBatch(batch);
  }

  /** Emits a batch that this process appended. */
  emitAppended(id: RunId, { first, count, frames, end }: AppendBatch): void {
    if (count > 0) this.emitBatch(id, { first, last: first + count - 1, frames, end: end !== undefined });
  }

  emitGap(id: RunId): void {
    const all = this.#byRun.get(id);
    if (all) for (const handlers of [...all]) handlers.onGap();
  }

  emitGapToAll(): void {
    for (const id of [...this.#byRun.keys()]) this.emitGap(id);
  }
}

/** Listeners in this process. They must not throw. */
export class Listeners<Event = void> {
  readonly #all = new Set<(event: Event) => void>();

  add(listener: (event: Event) => void): Disposable {
    // Wrapped, as in `LogListeners.add`.
    const entry = (event: Event) => listener(event);
    this.#all.add(entry);
    return { [Symbol.dispose]: () => void this.#all.delete(entry) };
  }

  emit(event: Event): void {
    for (const listener of [...this.#all]) listener(event);
  }
}
