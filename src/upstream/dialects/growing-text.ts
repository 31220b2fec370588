/** The end of a word. No text goes on by repeating all of itself without a space. */
const WORD_END = /[\p{L}\p{N}]{3}$/u;

/** What is new in each chunk of a text, also where every chunk repeats all text before it (DashScope, Apple). */
export class GrowingText {
  #kind: 'unknown' | 'growing' | 'plain' = 'unknown';
  #last = '';
  /** How much of a growing text was given. */
  #given = 0;
  /** Chunks that are new only if the text is plain. */
  #held = '';

  push(chunk: string): string {
    if (this.#kind === 'plain' || chunk === '') return chunk;
    const last = this.#last;
    const grows = chunk.startsWith(last) && (this.#kind === 'growing' || chunk.length > last.length);
    if (!grows) {
      // The last chunk of a growing text may come without its trailing space.
      if (this.#kind === 'growing' && last.startsWith(chunk)) return '';
      this.#kind = 'plain';
      return this.end() + chunk;
    }
    this.#last = chunk;
    if (this.#kind === 'unknown' && last !== '') {
      if (!WORD_END.test(last)) {
        this.#held += chunk;
        return '';
      }
      this.#kind = 'growing';
      this.#held = '';
    }
    const fresh = chunk.slice(this.#given);
    this.#given = chunk.length;
    return fresh;
  }

  /** What was held back. */
  end(): string {
    const held = this.#held;
    this.#held = '';
    return held;
  }
}
