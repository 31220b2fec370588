/** What all answers together may hold in memory beyond the small ones, so that slow clients cannot fill it. */
export class MemoryBudget {
  #left: number;

  /** `bytes`: for everybody together. */
  constructor(bytes: number) {
    this.#left = bytes;
  }

  account(): MemoryAccount {
    return new MemoryAccount((bytes) => {
      if (bytes > this.#left) return false;
      this.#left -= bytes;
      return true;
    });
  }
}

/** What one answer holds of a budget; disposing it gives everything back. */
export class MemoryAccount implements Disposable {
  readonly #take: (bytes: number) => boolean;
  #taken = 0;

  constructor(take: (bytes: number) => boolean) {
    this.#take = take;
  }

  get taken(): number {
    return this.#taken;
  }

  /** False: there is not as much left. */
  take(bytes: number): boolean {
    if (!this.#take(bytes)) return false;
    this.#taken += bytes;
    return true;
  }

  [Symbol.dispose](): void {
    this.#take(-this.#taken);
    this.#taken = 0;
  }
}
