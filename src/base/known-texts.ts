/** Characters that are looked at together: the shortest text that is found. */
export const SHORTEST = 6;
const BASE = 0x01000193;
/** `BASE` to the power of `SHORTEST`: what a character weighs that leaves the window. */
const LEAVING = Array.from({ length: SHORTEST }).reduce((power: number) => Math.imul(power, BASE), 1);
/** Bits of the filter for each text, so that one in dozens of windows is looked at for nothing. */
const BITS_EACH = 64;
const FEWEST_BITS = 2 ** 10;
/** So few are looked for one after the other, natively: one pass over the characters takes longer. */
const FEW = 16;

/**
 * Finds known texts inside others, whatever they look like, in one pass: what it costs hardly depends on how many are
 * known. A filter tells from the last six characters, and then from the length, whether a known text may end here; only
 * then it is looked up.
 */
export class KnownTexts {
  readonly #texts = new Set<string>();
  readonly #lengths = new Set<number>();
  #bits = new Uint32Array(FEWEST_BITS / 32);
  /** By how far a hash is shifted to be a bit. */
  #shift = 32 - Math.log2(FEWEST_BITS);

  /** Shorter ones than `SHORTEST` are left out. */
  add(text: string): void {
    if (text.length < SHORTEST || this.#texts.has(text)) return;
    this.#texts.add(text);
    this.#lengths.add(text.length);
    if (this.#texts.size * BITS_EACH > this.#bits.length * 32) this.#grow();
    else this.#mark(text);
  }

  /** `text` with each known text in it replaced; those that overlap are replaced together. */
  replace(text: string, replacement: string): string {
    if (this.#texts.size <= FEW && this.#texts.values().every((known) => !text.includes(known))) return text;
    let clean = '';
    let copied = 0;
    let from = -1;
    let to = -1;
    this.#find(text, (start, end) => {
      if (start < to || from === -1) {
        from = from === -1 ? start : Math.min(from, start);
        to = end;
        return;
      }
      clean += text.slice(copied, from) + replacement;
      copied = to;
      [from, to] = [start, end];
    });
    if (from === -1) return text;
    return clean + text.slice(copied, from) + replacement + text.slice(to);
  }

  /** Tells where known texts stand, by their ends; of those with the same end the longest. */
  #find(text: string, found: (start: number, end: number) => void): void {
    // Every character of every line of log comes by here: what is asked of each is in locals.
    const bits = this.#bits;
    const shift = this.#shift;
    let hash = 0;
    for (let at = 0; at < text.length; at++) {
      const left = at < SHORTEST ? 0 : Math.imul(text.charCodeAt(at - SHORTEST), LEAVING);
      hash = (Math.imul(hash, BASE) + text.charCodeAt(at) - left) | 0;
      if (at < SHORTEST - 1 || !isMarked(bits, bitOf(hash, shift))) continue;
      const start = this.#startOf(text, hash, at + 1);
      if (start !== undefined) found(start, at + 1);
    }
  }

  #startOf(text: string, hash: number, end: number): number | undefined {
    let longest = 0;
    for (const length of this.#lengths) {
      if (length > end || length <= longest || !this.#has(withLength(hash, length))) continue;
      if (this.#texts.has(text.slice(end - length, end))) longest = length;
    }
    return longest === 0 ? undefined : end - longest;
  }

  #mark(text: string): void {
    let hash = 0;
    for (let at = text.length - SHORTEST; at < text.length; at++) hash = Math.imul(hash, BASE) + text.charCodeAt(at);
    for (const each of [hash, withLength(hash, text.length)]) {
      const bit = bitOf(each, this.#shift);
      this.#bits[bit >>> 5] = (this.#bits[bit >>> 5] ?? 0) | (1 << (bit & 31));
    }
  }

  #grow(): void {
    this.#bits = new Uint32Array(this.#bits.length * 2);
    this.#shift--;
    for (const text of this.#texts) this.#mark(text);
  }

  #has(hash: number): boolean {
    return isMarked(this.#bits, bitOf(hash, this.#shift));
  }
}

function isMarked(bits: Uint32Array, bit: number): boolean {
  return ((bits[bit >>> 5] ?? 0) & (1 << (bit & 31))) !== 0;
}

function bitOf(hash: number, shift: number): number {
  return Math.imul(hash ^ (hash >>> 15), 0x9e3779b1) >>> shift;
}

function withLength(hash: number, length: number): number {
  return Math.imul(hash, BASE) ^ length;
}
