import { tokenWeight } from './estimate.ts';

/** Where the text stands that a model wrote, by API: in a stream, and in an answer that is whole. */
const FIELDS: Readonly<Record<string, { streamed: RegExp; whole: RegExp }>> = {
  chat_completions: bothAre('content', 'reasoning_content', 'reasoning', 'refusal', 'name', 'arguments', 'text'),
  completions: bothAre('text'),
  responses: { streamed: field('delta'), whole: field('text', 'refusal', 'name', 'arguments') },
  messages: bothAre('text', 'thinking', 'partial_json'),
};

function bothAre(...names: string[]): { streamed: RegExp; whole: RegExp } {
  return { streamed: field(...names), whole: field(...names) };
}

/** Inside a string its quotes would be escaped, so what is found is a field. */
function field(...names: string[]): RegExp {
  return new RegExp(`"(${names.join('|')})"\\s{0,8}:\\s{0,8}"`, 'g');
}

/**
 * An estimate of the tokens that a model wrote, in fractions, of JSON as it came from an API; all choices, reasoning and
 * arguments of tools included. The JSON is searched, not parsed: a tenth of the cost, for each event of each stream.
 * Zero for APIs whose answers are no text.
 */
export function deliveredWeight(json: string, { api, streamed }: { api: string; streamed: boolean }): number {
  const field = FIELDS[api]?.[streamed ? 'streamed' : 'whole'];
  if (!field) return 0;
  let weight = 0;
  let last = { name: '', text: '' };
  field.lastIndex = 0;
  for (let found = field.exec(json); found; found = field.exec(json)) {
    const end = endOfString(json, field.lastIndex);
    const text = json.slice(field.lastIndex, end);
    const [, name = ''] = found;
    field.lastIndex = end;
    // Some providers tell the same thought under two names.
    if (text !== last.text || name === last.name) weight += tokenWeight(unescaped(text));
    last = { name, text };
  }
  return weight;
}

/** Whether what an API answers with is text that a model wrote. */
export function answersText(api: string): boolean {
  return api in FIELDS;
}

const QUOTE = '"';
const BACKSLASH = 0x5c;

/** Where the string ends whose text begins at `start`. */
function endOfString(json: string, start: number): number {
  for (let end = json.indexOf(QUOTE, start); end !== -1; end = json.indexOf(QUOTE, end + 1)) {
    let slashes = 0;
    while (json.charCodeAt(end - 1 - slashes) === BACKSLASH) slashes += 1;
    if (slashes % 2 === 0) return end;
  }
  return json.length;
}

function unescaped(text: string): string {
  if (!text.includes('\\')) return text;
  try {
    return String(JSON.parse(`"${text}"`));
  } catch {
    return text;
  }
}
