/**
 * A map of texts that holds about `maxBytes` at most and forgets what was used longest ago. What is larger than a
 * quarter of that is not kept at all.
 */
export class LruMap extends Map<string, string> {
  readonly #maxBytes: number;
  #bytes = 0;

  constructor(maxBytes: number) {
    super();
    this.#maxBytes = maxBytes;
  }

  /** Estimated bytes held. */
  get bytes(): number {
    return this.#bytes;
  }

  override get(key: string): string | undefined {
    const value = super.get(key);
    if (value === undefined) return undefined;
    super.delete(key);
    super.set(key, value);
    return value;
  }

  override set(key: string, value: string): this {
    this.delete(key);
    const size = sizeOf(key, value);
    if (size > this.#maxBytes / 4) return this;
    super.set(key, value);
    this.#bytes += size;
    for (const oldest of this.keys()) {
      if (this.#bytes <= this.#maxBytes) break;
      this.delete(oldest);
    }
    return this;
  }

  override delete(key: string): boolean {
    const value = super.get(key);
    if (value === undefined) return false;
    this.#bytes -= sizeOf(key, value);
    return super.delete(key);
  }

  override clear(): void {
    super.clear();
    this.#bytes = 0;
  }
}

/** Texts take one or two bytes a character; the larger is counted, and what an entry costs beside. */
function sizeOf(key: string, value: string): number {
  return 2 * (key.length + value.length) + 100;
}
