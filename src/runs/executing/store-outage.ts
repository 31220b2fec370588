import { isStoreAway } from '../../store/failure.ts';
import type { RunStore } from '../../store/run-store.ts';

/** So many milliseconds after the store came back, an owner that lives has renewed its claims. */
const RENEWED_MS = 3000;

/**
 * Whether a claim that has run out says that its owner is gone. After the store was away it does not: nobody could
 * renew claims, and whoever takes such a run over pays again for the step that its owner is in.
 */
export class StoreOutage {
  readonly #store: Pick<RunStore, 'check'>;
  #away = false;
  #backAt = Number.NEGATIVE_INFINITY;
  #looking = false;

  constructor(store: Pick<RunStore, 'check'>) {
    this.#store = store;
  }

  /** The store threw this. */
  failed(thrown: unknown): void {
    if (isStoreAway(thrown)) this.#away = true;
  }

  /** Whether owners had time to renew their claims. A store that failed is asked: not all that reads also writes. */
  get isOver(): boolean {
    if (this.#away && !this.#looking) void this.#look();
    return !this.#away && performance.now() - this.#backAt >= RENEWED_MS;
  }

  async #look(): Promise<void> {
    this.#looking = true;
    // What holds the store for workers may itself be away.
    const ok = await this.#store.check().then(
      (checked) => checked.ok,
      () => false,
    );
    this.#looking = false;
    if (!ok) return;
    this.#away = false;
    this.#backAt = performance.now();
  }
}
