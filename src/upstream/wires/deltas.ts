import { saysSomething } from '../decoding/answer-signs.ts';
import type { Delta } from '../decoding/turn-decoder.ts';
import { brokenStream } from '../routing/attempt-failure.ts';

/** The most text that one turn may bring, in characters: beyond it the stream is a fault. */
const MAX_CHARACTERS = 16 * 1024 * 1024;

/** Deltas of a turn until they are taken: those of one kind that stand together become one. */
export class Deltas {
  #parts: Delta[] = [];
  #text = '';
  #reasoning = 0;
  #characters = 0;
  #isVisible = false;

  /** All text so far. */
  get text(): string {
    return this.#text;
  }

  /** An estimate of the reasoning's tokens. */
  get reasoningTokens(): number {
    return Math.ceil(this.#reasoning / 4);
  }

  /** Characters of all output. */
  get characters(): number {
    return this.#characters;
  }

  /** Whether there is any output beyond white space. */
  get hasOutput(): boolean {
    return this.#isVisible;
  }

  /** Counts output that is not shown, such as arguments. @throws AttemptFailure for an answer without end. */
  count(output: string): void {
    this.#characters += output.length;
    this.#isVisible ||= saysSomething(output);
    if (this.#characters > MAX_CHARACTERS) throw brokenStream('the answer does not end');
  }

  push(type: Delta['type'], delta: string): void {
    if (delta === '') return;
    this.count(delta);
    if (type === 'text') this.#text += delta;
    else this.#reasoning += delta.length;
    const last = this.#parts.at(-1);
    if (last?.type === type) last.delta += delta;
    else this.#parts.push({ type, delta });
  }

  take(): Delta[] {
    const parts = this.#parts;
    if (parts.length > 0) this.#parts = [];
    return parts;
  }
}
