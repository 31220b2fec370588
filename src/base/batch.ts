/**
 * Things that nobody needs to hear of at once, told together: done for many in a row, small work costs a fraction of
 * what it costs between other things. No more than `size` are kept.
 */
export class Batch<T> {
  readonly #tell: (item: T) => void;
  readonly #size: number;
  #items: T[] = [];

  constructor(tell: (item: T) => void, { size }: { size: number }) {
    this.#tell = tell;
    this.#size = size;
  }

  push(item: T): void {
    this.#items.push(item);
    if (this.#items.length >= this.#size) this.flush();
  }

  /** Tells of all that are kept. */
  flush(): void {
    const items = this.#items;
    if (items.length === 0) return;
    this.#items = [];
    for (const item of items) this.#tell(item);
  }
}
