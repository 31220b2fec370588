import { isObject } from '../../base/json.ts';
import type { TokenLogprob } from '../../protocol/items.ts';

/** No token is longer, in UTF-16 code units. */
const LONGEST_TOKEN = 256;
/** Tokens that wait for their text at most, in bytes: more were never shown. */
const MOST_WAITING = 256 * 1024;

/**
 * How probable the tokens of a turn are. A provider tells it beside the text that they make; what is shown of that comes
 * later, in other pieces, and without tags, calls and secrets. So tokens wait here until their text is shown, and those of
 * a text that never is are dropped.
 */
export class TokenLogprobs {
  readonly #others: number;
  /** `told`: its text was begun. */
  #waiting: { token: TokenLogprob; length: number; told: boolean }[] = [];
  /** Their bytes, one a character: a token may be a part of a character. */
  #bytes = '';

  /** `others`: how many tokens in place of each are told at most. */
  constructor(others: number) {
    this.#others = others;
  }

  /** Takes a list as providers write it, in the words of chat completions or the Responses API. */
  note(list: unknown): void {
    if (!Array.isArray(list)) return;
    for (const value of list) {
      const probable = probableToken(value);
      if (!probable) continue;
      const others = isObject(value) && Array.isArray(value.top_logprobs) ? value.top_logprobs : [];
      const token = {
        ...probable,
        top_logprobs: others.slice(0, this.#others).flatMap((one) => probableToken(one) ?? []),
      };
      const bytes = String.fromCharCode(...token.bytes);
      this.#waiting.push({ token, length: bytes.length, told: false });
      this.#bytes += bytes;
    }
    if (this.#bytes.length > MOST_WAITING) this.#drop();
  }

  /** The tokens of a text that is shown now; none where it is not what they make. */
  of(text: string): TokenLogprob[] {
    if (this.#waiting.length === 0) return [];
    const shown = Buffer.from(text).toString('latin1');
    const start = this.#bytes.indexOf(shown);
    if (start === -1) {
      this.#drop();
      return [];
    }
    const end = start + shown.length;
    const tokens: TokenLogprob[] = [];
    let [from, whole] = [0, 0];
    for (const waiting of this.#waiting) {
      if (from >= end) break;
      const to = from + waiting.length;
      if (to > start && !waiting.told) tokens.push(waiting.token);
      if (to > end) Object.assign(waiting, { length: to - end, told: true });
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
  if (typeof token !== 'string' || token.length > LONGEST_TOKEN || typeof logprob !== 'number') return undefined;
  return { token, logprob, bytes: areBytes(bytes) ? bytes : [...Buffer.from(token)] };
}

function areBytes(value: unknown): value is number[] {
  return (
    Array.isArray(value) &&
    value.length <= LONGEST_TOKEN * 4 &&
    value.every((byte) => Number.isInteger(byte) && byte >= 0 && byte <= 255)
  );
}
