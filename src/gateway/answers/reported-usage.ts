import { isObject, type JsonObject, parseJson } from '../../base/json.ts';
import { readUsage, type TurnUsage } from '../../upstream/provider-answer.ts';

/** Tokens in a provider's usage object, or null where it tells none. */
export function usageIn(usage: unknown): TurnUsage | null {
  return readUsage(usage) ?? null;
}

/** A usage object is small: longer texts are not looked at. */
const LONGEST = 4096;
/** Places looked at: a provider may write the word as often as it likes. */
const MOST_PLACES = 64;
const FIELD = /"usage"\s{0,16}:\s{0,16}\{/y;

/**
 * Tokens of the last usage object in a piece of JSON, found without parsing the rest. Inside a string its quotes would
 * be escaped, so what is found is a field. `first`: counts that were told before and that it need not repeat.
 */
export function lastReportedUsage(text: string, first: JsonObject = {}): TurnUsage | null {
  let at = text.lastIndexOf('"usage"');
  for (let place = 0; at !== -1 && place < MOST_PLACES; place += 1) {
    FIELD.lastIndex = at;
    const start = FIELD.test(text) ? FIELD.lastIndex - 1 : undefined;
    const found = start === undefined ? undefined : parseJson(text.slice(start, endOfObject(text, start)));
    const usage = usageIn(found) && isObject(found) ? usageIn({ ...first, ...numbersOf(found) }) : null;
    if (usage !== null) return usage;
    at = at === 0 ? -1 : text.lastIndexOf('"usage"', at - 1);
  }
  return null;
}

/** What is reported; a null adds nothing. */
function numbersOf(usage: Record<string, unknown>): Record<string, unknown> {
  return Object.fromEntries(Object.entries(usage).filter(([, value]) => value !== null));
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
