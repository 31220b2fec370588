import { parseJson } from '../base/json.ts';
import { readUsage } from '../upstream/provider-answer.ts';

/** Tokens in a provider's usage object, or null where it tells none. */
export function tokensIn(usage: unknown): number | null {
  const read = readUsage(usage);
  return read ? read.inputTokens + read.outputTokens : null;
}

/** A usage object is small; a longer text is none. */
const LONGEST = 4096;
/** Places looked at: a provider may write the word as often as it likes. */
const MOST_PLACES = 64;
const FIELD = /"usage"\s{0,16}:\s{0,16}\{/y;

/**
 * Tokens of the last usage object in a piece of JSON, found without parsing the rest. Inside a string its quotes would
 * be escaped, so what is found is a field.
 */
export function lastReportedTokens(text: string): number | null {
  let at = text.lastIndexOf('"usage"');
  for (let place = 0; at !== -1 && place < MOST_PLACES; place += 1) {
    FIELD.lastIndex = at;
    const start = FIELD.test(text) ? FIELD.lastIndex - 1 : undefined;
    const tokens = start === undefined ? null : tokensIn(parseJson(text.slice(start, endOfObject(text, start))));
    if (tokens !== null) return tokens;
    at = at === 0 ? -1 : text.lastIndexOf('"usage"', at - 1);
  }
  return null;
}

/** Behind the brace that closes the object at `start`. Usage holds numbers and names, so no brace is in a string. */
function endOfObject(text: string, start: number): number {
  let depth = 0;
  for (let at = start; at < text.length && at - start < LONGEST; at++) {
    const char = text[at];
    if (char === '{') depth++;
    else if (char === '}' && --depth === 0) return at + 1;
  }
  return start;
}
