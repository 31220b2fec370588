/** What a request asks for, as the most lenient provider reads it: many take numbers in strings, and fractions. */

/** No number that a provider reads is longer, in UTF-16 code units. */
const LONGEST_NUMBER = 64;
/** How many answers a request may ask for in each of the two ways. Providers allow 128 at most. */
const MOST_ANSWERS = 1024;

/**
 * The largest whole number that some provider may read in `value`, rounded up; Infinity for what is none at all but stands there.
 * Undefined where nothing is asked for: it is absent, null or a boolean.
 */
export function askedNumber(value: unknown): number | undefined {
  if (value === undefined || value === null || typeof value === 'boolean') return undefined;
  const read = typeof value === 'string' ? numberIn(value) : value;
  return typeof read === 'number' && !Number.isNaN(read) ? Math.ceil(read) : Number.POSITIVE_INFINITY;
}

/** Python reads `1_000`; others read up to what is no digit. */
function numberIn(text: string): number {
  if (text.length > LONGEST_NUMBER) return Number.NaN;
  const plain = text.normalize('NFKC').replaceAll('_', '').trim();
  const read = [plain === '' ? 0 : Number(plain), Number.parseFloat(plain)].filter((number) => !Number.isNaN(number));
  return read.length > 0 ? Math.max(...read) : Number.NaN;
}

/**
 * What is asked for under any of these names, which are in lower case. Providers in Go take a name in any case, and a long s
 * or the sign of Kelvin for the letters that they look like.
 */
export function numbersIn(fields: Readonly<Record<string, unknown>>, names: readonly string[]): number[] {
  const named = Object.keys(fields).filter((name) => names.includes(name.toUpperCase().toLowerCase()));
  return named.flatMap((name) => askedNumber(fields[name]) ?? []);
}

const ANSWERS = ['n', 'best_of'];

/** Answers that are made, though fewer may be sent: `best_of`, and one for each of several prompts. `api`: a name of `apis`. */
export function askedAnswers(api: string, fields: Readonly<Record<string, unknown>>): number {
  if (api !== 'chat_completions' && api !== 'completions') return 1;
  return Math.min(MOST_ANSWERS, Math.max(1, ...numbersIn(fields, ANSWERS))) * promptsIn(fields.prompt);
}

/** One, or how many stand in a list. A list of numbers is one prompt that its client has taken apart. */
export function promptsIn(prompt: unknown): number {
  return Array.isArray(prompt) && typeof prompt[0] !== 'number' ? Math.max(1, prompt.length) : 1;
}
