import type { LimitHolder, LimitRelease } from '../limit-store.ts';

/** What a holder gives back. */
export interface OwedRelease {
  holder: LimitHolder;
  releases: readonly LimitRelease[];
}

/** Holders that are remembered; what the oldest ones owe is lost to their keys until the window ends. */
const MOST = 10_000;

/** What was given back while Redis was away, to be repeated once it is there. */
export class OwedReleases {
  readonly #repeat: (owed: OwedRelease) => Promise<void>;
  readonly #owed = new Set<OwedRelease>();
  #repeating = false;

  /** @param repeat may be called again with what it has done already; rejects where Redis is still away. */
  constructor(repeat: (owed: OwedRelease) => Promise<void>) {
    this.#repeat = repeat;
  }

  add(owed: OwedRelease): void {
    this.#owed.add(owed);
    const [oldest] = this.#owed;
    if (oldest && this.#owed.size > MOST) this.#owed.delete(oldest);
  }

  /** Repeats what is owed, the oldest first, up to the first that fails. Never rejects. */
  async repeatAll(): Promise<void> {
    if (this.#repeating) return;
    this.#repeating = true;
    try {
      for (const owed of this.#owed) {
        await this.#repeat(owed);
        this.#owed.delete(owed);
      }
    } catch {
      // Redis is away again: the rest is repeated when it is back.
    } finally {
      this.#repeating = false;
    }
  }
}
