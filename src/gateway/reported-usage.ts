import { parseJson } from '../base/json.ts';
import { readUsage } from '../upstream/usage.ts';

/** Tokens in a provider's usage object, or null where it tells none. */
export function tokensIn(usage: unknown): number | null {
  const read = readUsage(usage);
  return read ? read.inputTokens + read.outputTokens : null;
}

/** A usage object is small; a longer text is none. */
const LONGEST = 4096;

/**
 * Tokens of the last usage object in a piece of JSON, found without parsing the rest. Inside a string its quotes would
 * be escaped, so what is found is a field.
 */
export function lastReportedTokens(text: string): number | null {
  for (let at = text.lastIndexOf('"usage"'); at !== -1; at = at === 0 ? -1 : text.lastIndexOf('"usage"', at - 1)) {
    const start = text.indexOf('{', at);
    if (start === -1 || !/^"usage"\s*:\s*$/.test(text.slice(at, start))) continue;
    const tokens = tokensIn(parseJson(text.slice(start, endOfObject(text, start))));
    if (tokens !== null) return tokens;
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
