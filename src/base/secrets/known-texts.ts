/** The length of the rolling hash's window, and so of the shortest text that is found. */
export const MIN_LENGTH = 6;
const BASE = 0x01000193;
/** `BASE` to the power of `MIN_LENGTH`: the weight of the character that leaves the window. */
const LEAVING_WEIGHT = Array.from({ length: MIN_LENGTH }).reduce((power: number) => Math.imul(power, BASE), 1);
/** Up to this many texts, searching for each natively is faster than one pass over the characters. */
const MAX_SEARCHES = 16;

/**
 * Finds known texts inside others in one pass (Rabin-Karp): the cost hardly depends on how many texts are known. The hash
 * of the last six characters says which lengths a known text that ends here may have; only these are looked up.
 */
export class KnownTexts {
  readonly #texts = new Set<string>();
  /** By the hash of their last characters, the lengths of the texts that end so. */
  readonly #lengths = new Map<number, number[]>();

  /** Adds a text, unless it is shorter than `MIN_LENGTH`. */
  add(text: string): void {
    if (text.length < MIN_LENGTH || this.#texts.has(text)) return;
    this.#texts.add(text);
    let hash = 0;
    for (let at = text.length - MIN_LENGTH; at < text.length; at++) {
      hash = (Math.imul(hash, BASE) + text.charCodeAt(at)) | 0;
    }
    const lengths = this.#lengths.getOrInsertComputed(hash, () => []);
    if (!lengths.includes(text.length)) lengths.push(text.length);
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
    let hash = 0;
    for (let at = 0; at < text.length; at++) {
      const leaving = at < MIN_LENGTH ? 0 : Math.imul(text.charCodeAt(at - MIN_LENGTH), LEAVING_WEIGHT);
      hash = (Math.imul(hash, BASE) + text.charCodeAt(at) - leaving) | 0;
      const lengths = this.#lengths.get(hash);
      if (!lengths) continue;
      const end = at + 1;
      const found = lengths.filter((length) => length <= end && this.#texts.has(text.slice(end - length, end)));
      if (found.length > 0) onFound(end - Math.max(...found), end);
    }
  }
}
