import { isObject, parseJson } from '../../base/json.ts';
import { readInputUsage, readUsage, type TurnUsage } from '../../upstream/provider-answer.ts';

/** APIs whose answers have no tokens, so that all usage is input. */
const INPUT_ONLY = new Set(['embeddings', 'rerank', 'moderations']);

/** Tokens in a provider's usage object, or null if it has none. `api`: as in `models.<name>.apis`. */
function usageIn(usage: unknown, api: string): TurnUsage | null {
  return (INPUT_ONLY.has(api) ? readInputUsage(usage) : readUsage(usage)) ?? null;
}

/**
 * Tokens that an answer or an event reports, or null: at its top level and where the wires have them, nowhere else.
 * `first`: counts that were reported earlier and may not be repeated.
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
    const reported = isObject(usage) ? usageIn(usage, api) : null;
    // The earlier counts alone are no report.
    if (isObject(usage) && reported) return first ? usageIn({ ...first, ...withoutNulls(usage) }, api) : reported;
  }
  return null;
}

/** A usage object is short, and so is the text after it, in characters. */
const MAX_USAGE_LENGTH = 4096;
const MAX_REST = 64 * 1024;
/** The most matches that are examined: a provider may write the word as often as it likes. */
const MAX_MATCHES = 64;
const USAGE_FIELD = /"usage"\s{0,16}:\s{0,16}\{/y;

/**
 * Tokens that a JSON document reports at its top level, found without parsing the rest. `text`: its end. Quotes in a
 * string are escaped, so every match is a field.
 */
export function lastReportedUsage(text: string, api: string): TurnUsage | null {
  let at = text.lastIndexOf('"usage"');
  for (let place = 0; at !== -1 && place < MAX_MATCHES; place += 1) {
    USAGE_FIELD.lastIndex = at;
    const start = USAGE_FIELD.test(text) ? USAGE_FIELD.lastIndex - 1 : undefined;
    const end = start === undefined ? undefined : endOfObject(text, start);
    const usage = end === undefined ? null : usageIn(parseJson(text.slice(start, end)), api);
    if (usage !== null && end !== undefined && closesOneObject(text, end)) return usage;
    at = at === 0 ? -1 : text.lastIndexOf('"usage"', at - 1);
  }
  return null;
}

function withoutNulls(usage: Record<string, unknown>): Record<string, unknown> {
  return Object.fromEntries(Object.entries(usage).filter(([, value]) => value !== null));
}

/** The position after the object at `start`. The strings in a usage object are names, so they contain no braces. */
function endOfObject(text: string, start: number): number {
  let depth = 0;
  for (let at = start; at < text.length && at - start < MAX_USAGE_LENGTH; at++) {
    const char = text[at];
    if (char === '{') depth++;
    else if (char === '}' && --depth === 0) return at + 1;
  }
  return start;
}

/** Whether the text from `from` closes exactly one object: then what precedes it is a field of the top level. */
function closesOneObject(text: string, from: number): boolean {
  if (text.length - from > MAX_REST) return false;
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
