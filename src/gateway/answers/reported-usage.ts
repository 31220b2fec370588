import { isObject, parseJson } from '../../base/json.ts';
import { readInputUsage, readUsage, type TurnUsage } from '../../upstream/provider-answer.ts';

/** APIs that answer with no tokens: all that they count is read. */
const INPUT_ONLY = new Set(['embeddings', 'rerank', 'moderations']);

/** Tokens in a provider's usage object, or null where it tells none. `api`: a name of `apis`. */
function usageIn(usage: unknown, api: string): TurnUsage | null {
  return (INPUT_ONLY.has(api) ? readInputUsage(usage) : readUsage(usage)) ?? null;
}

/**
 * Tokens in an answer or an event of a stream, or null: at its top and where wires have it, nowhere else. `first`: counts that
 * were told before and that it need not repeat.
 */
export function usageOfPayload(payload: Record<string, unknown>, api: string, first?: object): TurnUsage | null {
  const { choices } = payload;
  // Responses; Messages; Groq; Moonshot.
  const holders = [
    payload,
    payload.response,
    payload.message,
    payload.x_groq,
    Array.isArray(choices) ? choices[0] : null,
  ];
  for (const holder of holders) {
    const usage = isObject(holder) ? holder.usage : undefined;
    const told = isObject(usage) ? usageIn(usage, api) : null;
    // What is told before counts only with something new.
    if (isObject(usage) && told) return first ? usageIn({ ...first, ...numbersOf(usage) }, api) : told;
  }
  return null;
}

/** A usage object is small, and so is what stands behind it: longer texts are not looked at. */
const LONGEST = 4096;
const LONGEST_REST = 64 * 1024;
/** Places looked at: a provider may write the word as often as it likes. */
const MOST_PLACES = 64;
const FIELD = /"usage"\s{0,16}:\s{0,16}\{/y;

/**
 * Tokens that a JSON document reports at its top, found without parsing the rest: `text` is its end. Inside a string its
 * quotes would be escaped, so what is found is a field.
 */
export function lastReportedUsage(text: string, api: string): TurnUsage | null {
  let at = text.lastIndexOf('"usage"');
  for (let place = 0; at !== -1 && place < MOST_PLACES; place += 1) {
    FIELD.lastIndex = at;
    const start = FIELD.test(text) ? FIELD.lastIndex - 1 : undefined;
    const end = start === undefined ? undefined : endOfObject(text, start);
    const usage = end === undefined ? null : usageIn(parseJson(text.slice(start, end)), api);
    if (usage !== null && end !== undefined && closesOne(text, end)) return usage;
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

/** Whether what follows closes one object, and no other that was open: what stood before is a field of the whole. */
function closesOne(text: string, from: number): boolean {
  if (text.length - from > LONGEST_REST) return false;
  let depth = 0;
  let inString = false;
  for (let at = from; at < text.length; at++) {
    const char = text[at];
    if (inString && char === '\\') at++;
    else if (char === '"') inString = !inString;
    else if (inString) continue;
    else if (char === '{' || char === '[') depth++;
    else if (char === '}' || char === ']') depth--;
  }
  return depth === -1;
}
