import { tokenWeight } from './estimate.ts';

interface TextFields {
  names: ReadonlySet<string>;
  /** Finds their ends: a search that starts with two letters takes a quarter of the time of one for the names. */
  ends: RegExp;
}

/** Where the text stands that a model wrote, by API: in a stream, and in an answer that is whole. */
const FIELDS: Readonly<Record<string, { streamed: TextFields; whole: TextFields }>> = {
  chat_completions: alike(
    ...['content', 'text', 'refusal', 'name', 'arguments', 'transcript'],
    // As `reasoningOfDelta` reads them.
    ...['reasoning_content', 'reasoning', 'reasoning_text', 'thinking', 'summary'],
  ),
  completions: alike('text'),
  responses: { streamed: fields('delta'), whole: fields('text', 'refusal', 'name', 'arguments') },
  messages: alike('text', 'thinking', 'partial_json', 'input'),
};
/** Arguments of tools that are not written as text but as an object: Anthropic's, and of some servers all. */
const OBJECTS = new Set(['arguments', 'input']);
/** Objects are not read beyond this, in UTF-16 code units. */
const LONGEST_OBJECT = 1024 * 1024;

function alike(...names: string[]): { streamed: TextFields; whole: TextFields } {
  const both = fields(...names);
  return { streamed: both, whole: both };
}

function fields(...names: string[]): TextFields {
  const ends = new Set(names.map((name) => name.slice(-2)));
  return { names: new Set(names), ends: new RegExp(`(?:${[...ends].join('|')})"\\s{0,8}:\\s{0,8}["{]`, 'g') };
}

/** Whether what an API answers with is text that a model wrote. */
export function answersText(api: string): boolean {
  return api in FIELDS;
}

/**
 * An estimate of the tokens that a model wrote, in fractions, of JSON as it came from an API; all choices, reasoning and
 * arguments of tools included. The JSON is searched, not parsed: a tenth of the cost, for each event of each stream.
 * Zero for APIs whose answers are no text.
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
    // Inside a string its quotes would be escaped, so what stands between quotes before a colon is a field.
    const nameEnd = json.lastIndexOf('"', json.lastIndexOf(':', start - 2));
    const name = json.slice(json.lastIndexOf('"', nameEnd - 1) + 1, nameEnd);
    if (isObject && !(OBJECTS.has(name) && names.has(name))) continue;
    const end = isObject ? endOfObject(json, start) : endOfString(json, start);
    ends.lastIndex = end;
    if (isObject) {
      // Without the braces: a call may begin empty.
      weight += tokenWeight(json.slice(start, end));
      continue;
    }
    if (!names.has(name)) continue;
    const text = json.slice(start, end);
    // Some providers tell the same thought under two names; a model that repeats itself says it again under the first.
    if (text === lastText && name !== countedName) continue;
    weight += tokenWeight(unescaped(text));
    countedName = name;
    lastText = text;
  }
  return weight;
}

const BACKSLASH = 0x5c;

/** Where the string ends whose text begins at `start`. */
function endOfString(json: string, start: number): number {
  for (let end = json.indexOf('"', start); end !== -1; end = json.indexOf('"', end + 1)) {
    let slashes = 0;
    while (json.charCodeAt(end - 1 - slashes) === BACKSLASH) slashes += 1;
    if (slashes % 2 === 0) return end;
  }
  return json.length;
}

/** Where the object ends whose fields begin at `start`. */
function endOfObject(json: string, start: number): number {
  const most = Math.min(json.length, start + LONGEST_OBJECT);
  let depth = 1;
  for (let at = start; at < most; at++) {
    const char = json[at];
    if (char === '"') at = endOfString(json, at + 1);
    else if (char === '{') depth += 1;
    else if (char === '}' && --depth === 0) return at;
  }
  return most;
}

function unescaped(text: string): string {
  if (!text.includes('\\')) return text;
  try {
    return String(JSON.parse(`"${text}"`));
  } catch {
    return text;
  }
}
