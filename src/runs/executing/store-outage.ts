import { isStoreUnavailable } from '../../store/failure.ts';
import type { RunStore } from '../../store/run-store.ts';

/** How long after the store came back every live owner has renewed its claims, in milliseconds. */
const RENEWED_MS = 3000;

/**
 * Knows whether an expired claim means that its owner is gone. Right after the store was away it does not: nobody could
 * renew claims, and whoever takes such a run over pays again for the step that its owner is in.
 */
export class StoreOutage {
  readonly #store: Pick<RunStore, 'check'>;
  #away = false;
  #backAt = Number.NEGATIVE_INFINITY;
  #isChecking = false;

  constructor(store: Pick<RunStore, 'check'>) {
    this.#store = store;
  }

  /** Notes an error that the store threw. */
  noteFailure(thrown: unknown): void {
    if (isStoreUnavailable(thrown)) this.#away = true;
  }

  /** Whether owners have had time to renew their claims. After a failure the store is checked first: a store that reads may not write. */
  get isOver(): boolean {
    if (this.#away && !this.#isChecking) void this.#check();
    return !this.#away && performance.now() - this.#backAt >= RENEWED_MS;
  }

  async #check(): Promise<void> {
    this.#isChecking = true;
    // The check may itself fail: workers share a store that another process holds.
    const ok = await this.#store.check().then(
      (checked) => checked.ok,
      () => false,
    );
    this.#isChecking = false;
    if (!ok) return;
    this.#away = false;
    this.#backAt = performance.now();
  }
}
