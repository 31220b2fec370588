import { isObject } from '../../base/json.ts';
import type { TokenLogprob } from '../../protocol/items.ts';

/** The longest token, in UTF-16 code units. */
const MAX_TOKEN = 256;
/** How many bytes of tokens may wait for their text: if there are more, that text is never emitted. */
const MAX_WAITING = 256 * 1024;

/**
 * The log probabilities of a turn's tokens. A provider sends them beside the text; the text is emitted later, in other
 * pieces, and without tags, calls and secrets. So tokens wait here until their text is emitted; the tokens of text that
 * never is are dropped.
 */
export class TokenLogprobs {
  readonly #maxAlternatives: number;
  /** `isTaken`: an earlier piece of text held its beginning. */
  #waiting: { token: TokenLogprob; length: number; isTaken: boolean }[] = [];
  /** Their bytes as Latin-1 text, since a token may be a part of a character. */
  #bytes = '';

  /** `maxAlternatives`: how many `top_logprobs` each token keeps. */
  constructor(maxAlternatives: number) {
    this.#maxAlternatives = maxAlternatives;
  }

  /** Adds a provider's list, in the form of chat completions and the Responses API. */
  add(list: unknown): void {
    if (!Array.isArray(list)) return;
    for (const value of list) {
      const probable = probableToken(value);
      if (!probable) continue;
      const alternatives = isObject(value) && Array.isArray(value.top_logprobs) ? value.top_logprobs : [];
      const token = {
        ...probable,
        top_logprobs: alternatives.slice(0, this.#maxAlternatives).flatMap((item) => probableToken(item) ?? []),
      };
      const bytes = String.fromCharCode(...token.bytes);
      this.#waiting.push({ token, length: bytes.length, isTaken: false });
      this.#bytes += bytes;
    }
    if (this.#bytes.length > MAX_WAITING) this.#drop();
  }

  /** Takes the tokens of a text that is emitted now; none where the text is not made of waiting tokens. */
  take(text: string): TokenLogprob[] {
    if (this.#waiting.length === 0) return [];
    const bytes = Buffer.from(text).toString('latin1');
    const start = this.#bytes.indexOf(bytes);
    if (start === -1) {
      this.#drop();
      return [];
    }
    const end = start + bytes.length;
    const tokens: TokenLogprob[] = [];
    let [from, whole] = [0, 0];
    for (const waiting of this.#waiting) {
      if (from >= end) break;
      const to = from + waiting.length;
      if (to > start && !waiting.isTaken) tokens.push(waiting.token);
      if (to > end) Object.assign(waiting, { length: to - end, isTaken: true });
      else whole++;
      from = to;
    }
    this.#waiting.splice(0, whole);
    this.#bytes = this.#bytes.slice(end);
    return tokens;
  }

  #drop(): void {
    this.#waiting = [];
    this.#bytes = '';
  }
}

function probableToken(value: unknown): Omit<TokenLogprob, 'top_logprobs'> | undefined {
  if (!isObject(value)) return undefined;
  const { token, logprob, bytes } = value;
  if (typeof token !== 'string' || token.length > MAX_TOKEN || typeof logprob !== 'number') return undefined;
  return { token, logprob, bytes: areBytes(bytes) ? bytes : [...Buffer.from(token)] };
}

function areBytes(value: unknown): value is number[] {
  return (
    Array.isArray(value) &&
    value.length <= MAX_TOKEN * 4 &&
    value.every((byte) => Number.isInteger(byte) && byte >= 0 && byte <= 255)
  );
}
