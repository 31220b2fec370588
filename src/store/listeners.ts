import type { RunId } from '../base/ids.ts';
import type { AppendBatch, LogBatch, LogHandlers } from './run-store.ts';

/** Subscribers to the logs of runs in this process. Handlers must not throw. */
export class LogListeners {
  readonly #byRun = new Map<RunId, Set<LogHandlers>>();

  add(id: RunId, handlers: LogHandlers): Disposable {
    const handlersOfRun = this.#byRun.getOrInsertComputed(id, () => new Set());
    handlersOfRun.add(handlers);
    return {
      [Symbol.dispose]: () => {
        handlersOfRun.delete(handlers);
        if (handlersOfRun.size === 0 && this.#byRun.get(id) === handlersOfRun) this.#byRun.delete(id);
      },
    };
  }

  has(id: RunId): boolean {
    return this.#byRun.has(id);
  }

  emitBatch(id: RunId, batch: LogBatch): void {
    for (const handlers of this.#byRun.get(id) ?? []) handlers.onBatch(batch);
  }

  /** Emits a batch that this process appended. */
  emitAppended(id: RunId, { first, count, frames, end }: AppendBatch): void {
    if (count > 0) this.emitBatch(id, { first, last: first + count - 1, frames, end: end !== undefined });
  }

  emitGap(id: RunId): void {
    for (const handlers of this.#byRun.get(id) ?? []) handlers.onGap();
  }

  emitGapToAll(): void {
    for (const id of this.#byRun.keys()) this.emitGap(id);
  }
}

/** Listeners in this process. They must not throw. */
export class Listeners<Event = void> {
  readonly #all = new Set<(event: Event) => void>();

  add(listener: (event: Event) => void): Disposable {
    this.#all.add(listener);
    return { [Symbol.dispose]: () => void this.#all.delete(listener) };
  }

  emit(event: Event): void {
    for (const listener of this.#all) listener(event);
  }
}
