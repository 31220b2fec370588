/** The length of the rolling hash's window, and so of the shortest text that is found. */
export const MIN_LENGTH = 6;
const BASE = 0x01000193;
/** `BASE` to the power of `MIN_LENGTH`: the weight of the character that leaves the window. */
const LEAVING_WEIGHT = Array.from({ length: MIN_LENGTH }).reduce((power: number) => Math.imul(power, BASE), 1);
/** Bits of the filter per text: enough that only one window in dozens is a false match. */
const BITS_PER_TEXT = 64;
const MIN_BITS = 2 ** 10;
/** Up to this many texts, searching for each natively is faster than one pass over the characters. */
const MAX_SEARCHES = 16;

/**
 * Finds known texts inside others in one pass (Rabin-Karp): the cost hardly depends on how many texts are known. A Bloom
 * filter says from the hash of the last six characters, and then from the length, whether a known text may end here;
 * only then is the text looked up.
 */
export class KnownTexts {
  readonly #texts = new Set<string>();
  readonly #lengths = new Set<number>();
  #bits = new Uint32Array(MIN_BITS / 32);
  /** How far a hash is shifted right to be the index of a bit. */
  #shift = 32 - Math.log2(MIN_BITS);

  /** Adds a text, unless it is shorter than `MIN_LENGTH`. */
  add(text: string): void {
    if (text.length < MIN_LENGTH || this.#texts.has(text)) return;
    this.#texts.add(text);
    this.#lengths.add(text.length);
    if (this.#texts.size * BITS_PER_TEXT > this.#bits.length * 32) this.#grow();
    else this.#mark(text);
  }

  /** Replaces each known text in `text`; overlapping ones are replaced together. */
  replace(text: string, replacement: string): string {
    if (this.#texts.size <= MAX_SEARCHES && this.#texts.values().every((known) => !text.includes(known))) return text;
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

  /** Reports where known texts stand, ordered by their ends; of texts with the same end, the longest. */
  #find(text: string, onFound: (start: number, end: number) => void): void {
    // This runs for every character of every log line, so the fields are copied to locals.
    const bits = this.#bits;
    const shift = this.#shift;
    let hash = 0;
    for (let at = 0; at < text.length; at++) {
      const leaving = at < MIN_LENGTH ? 0 : Math.imul(text.charCodeAt(at - MIN_LENGTH), LEAVING_WEIGHT);
      hash = (Math.imul(hash, BASE) + text.charCodeAt(at) - leaving) | 0;
      if (at < MIN_LENGTH - 1 || !isMarked(bits, bitOf(hash, shift))) continue;
      const start = this.#startOf(text, hash, at + 1);
      if (start !== undefined) onFound(start, at + 1);
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
    for (let at = text.length - MIN_LENGTH; at < text.length; at++) hash = Math.imul(hash, BASE) + text.charCodeAt(at);
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
