import { tokenWeight } from './estimate.ts';

interface TextFields {
  names: ReadonlySet<string>;
  /** Finds the last two letters of a name: a search for those takes a quarter of the time of one for whole names. */
  ends: RegExp;
}

/** The fields that hold the text of a model, by API: in a stream, and in an answer that is not streamed. */
const FIELDS: Readonly<Record<string, { streamed: TextFields; whole: TextFields }>> = {
  chat_completions: sameFields(
    ...['content', 'text', 'refusal', 'name', 'arguments', 'transcript'],
    // As `reasoningOfDelta` reads them.
    ...['reasoning_content', 'reasoning', 'reasoning_text', 'thinking', 'summary'],
  ),
  completions: sameFields('text'),
  responses: { streamed: fields('delta'), whole: fields('text', 'refusal', 'name', 'arguments') },
  messages: sameFields('text', 'thinking', 'partial_json', 'input'),
};
/** Fields of tool arguments that may be an object instead of text: Anthropic's, and those of some servers. */
const OBJECT_FIELDS = new Set(['arguments', 'input']);
/** How much of an object is read, in UTF-16 code units. */
const MAX_OBJECT = 1024 * 1024;

function sameFields(...names: string[]): { streamed: TextFields; whole: TextFields } {
  const both = fields(...names);
  return { streamed: both, whole: both };
}

function fields(...names: string[]): TextFields {
  const ends = new Set(names.map((name) => name.slice(-2)));
  return { names: new Set(names), ends: new RegExp(`(?:${[...ends].join('|')})"\\s{0,8}:\\s{0,8}["{]`, 'g') };
}

/** Whether an API answers with text of a model. */
export function answersText(api: string): boolean {
  return api in FIELDS;
}

/**
 * An estimate of the tokens that a model wrote, in fractions, from the JSON of an answer or event: all choices, reasoning
 * and tool arguments. The JSON is searched instead of parsed, at a tenth of the cost, for each event of each stream.
 * Zero for APIs whose answers are not text.
 */
export function deliveredWeight(json: string, { api, streamed }: { api: string; streamed: boolean }): number {
  const field = FIELDS[api]?.[streamed ? 'streamed' : 'whole'];
  if (!field) return 0;
  const { names, ends } = field;
  let weight = 0;
  let countedName = '';
  let lastText = '';
  ends.lastIndex = 0;
  while (ends.test(json)) {
    const start = ends.lastIndex;
    const isObject = json[start - 1] === '{';
    // Quotes inside a string would be escaped, so quoted text before a colon is a field's name.
    const nameEnd = json.lastIndexOf('"', json.lastIndexOf(':', start - 2));
    const name = json.slice(json.lastIndexOf('"', nameEnd - 1) + 1, nameEnd);
    if (isObject && !(OBJECT_FIELDS.has(name) && names.has(name))) continue;
    const end = isObject ? endOfObject(json, start) : endOfString(json, start);
    ends.lastIndex = end;
    if (isObject) {
      // Without the braces, because a call may start with an empty object.
      weight += tokenWeight(json.slice(start, end));
      continue;
    }
    if (!names.has(name)) continue;
    const text = json.slice(start, end);
    // The same text under another name is a copy (some providers send reasoning twice); under the same name it is not.
    if (text === lastText && name !== countedName) continue;
    weight += tokenWeight(unescaped(text));
    countedName = name;
    lastText = text;
  }
  return weight;
}

const BACKSLASH = 0x5c;

/** The index of the closing quote of the string whose text begins at `start`. */
function endOfString(json: string, start: number): number {
  for (let end = json.indexOf('"', start); end !== -1; end = json.indexOf('"', end + 1)) {
    let slashes = 0;
    while (json.charCodeAt(end - 1 - slashes) === BACKSLASH) slashes += 1;
    if (slashes % 2 === 0) return end;
  }
  return json.length;
}

/** The index of the closing brace of the object whose fields begin at `start`. */
function endOfObject(json: string, start: number): number {
  const limit = Math.min(json.length, start + MAX_OBJECT);
  let depth = 1;
  for (let at = start; at < limit; at++) {
    const char = json[at];
    if (char === '"') at = endOfString(json, at + 1);
    else if (char === '{') depth += 1;
    else if (char === '}' && --depth === 0) return at;
  }
  return limit;
}

function unescaped(text: string): string {
  if (!text.includes('\\')) return text;
  try {
    return String(JSON.parse(`"${text}"`));
  } catch {
    return text;
  }
}
