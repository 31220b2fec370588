import type { LimitHolder, LimitRelease } from '../limit-store.ts';

/** What a holder releases. */
export interface OwedRelease {
  holder: LimitHolder;
  releases: readonly LimitRelease[];
  /** Releases of what only this instance granted, until Redis knows of it. */
  missing?: Set<LimitRelease>;
}

/** Most releases that are remembered. The keys of older ones get their points back only when the window ends. */
const MAX_OWED = 10_000;

/** Releases that failed while Redis was unavailable, to be repeated once it is back. */
export class OwedReleases {
  readonly #repeat: (owed: OwedRelease) => Promise<void>;
  readonly #owed = new Set<OwedRelease>();
  #repeating = false;

  /** @param repeat may be called again for a release it has already done; rejects while Redis is unavailable. */
  constructor(repeat: (owed: OwedRelease) => Promise<void>) {
    this.#repeat = repeat;
  }

  add(owed: OwedRelease): void {
    this.#owed.add(owed);
    const [oldest] = this.#owed;
    if (oldest && this.#owed.size > MAX_OWED) this.#owed.delete(oldest);
  }

  /** Repeats owed releases, oldest first, until one fails. Never rejects. */
  async repeatAll(): Promise<void> {
    if (this.#repeating) return;
    this.#repeating = true;
    try {
      for (const owed of this.#owed) {
        await this.#repeat(owed);
        this.#owed.delete(owed);
      }
    } catch {
      // Redis is unavailable again; the rest is repeated when it is back.
    } finally {
      this.#repeating = false;
    }
  }
}
