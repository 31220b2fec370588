/** Smaller files are parsed fast enough as a whole; in characters. */
const MIN_FILE_LENGTH = 64 * 1024;
const SECTION = /^keys:[ \t]*\r?\n(?=( *- ))/m;
/** Characters that keep an entry from being split: quotes within quotes, comments, references, block scalars. */
const NOT_PLAIN = /['#\\$&*!|>%`\uE000]/;
/** A scalar value: in double quotes, or a plain word or number that ends where YAML ends it. */
const VALUE = /(?<=: |- |\[ ?|, )(?:"[^"\n]*"|[\w./@-]+)(?= *(?:[,}\]\r\n]|$))/g;
const WHOLE_NUMBER = /^(?:0|[1-9]\d{0,14})$/;
const WORD = /^(?!(?:true|false|null)$)[a-z][\w./@-]*$/i;
/** A digest that YAML cannot take for a number such as `12e5`. */
const DIGEST = /^(?=.*[a-df])[0-9a-f]{64}$/;
const PLACEHOLDER = /^\uE000(\d+)$/;

/** The keys of a file of many keys, and the file without them. */
export interface ManyKeysFile {
  keys: unknown[];
  rest: string;
}

/**
 * Reads the list of keys of a large file. Parsing ten thousand keys as YAML takes most of a start, but they differ in
 * their values and hardly in their form: each form is parsed once, with placeholders for the values. Undefined if the
 * list is not that simple or `readItems` finds a problem: then the whole file is parsed as usual.
 * @param readItems parses a list in YAML; undefined if it has a problem.
 */
export function readManyKeys(text: string, readItems: (yaml: string) => unknown): ManyKeysFile | undefined {
  const heading = text.length < MIN_FILE_LENGTH ? null : SECTION.exec(text);
  if (heading === null) return undefined;
  const start = heading.index + heading[0].length;
  const length = text.slice(start).search(/^[^\s#-]/m);
  const section = length === -1 ? text.slice(start) : text.slice(start, start + length);
  const dash = heading[1] ?? '';
  const forms = new Map<string, unknown>();
  const keys: unknown[] = [];
  for (const entry of section.slice(dash.length).split(`\n${dash}`)) {
    const item = dash + entry;
    const values: (string | number)[] = [];
    const isPlain = !NOT_PLAIN.test(item);
    const form = isPlain ? item.replace(VALUE, (value) => placeholderFor(value, values)) : item;
    if (!forms.has(form)) forms.set(form, readItems(form));
    const parsed = forms.get(form);
    if (!Array.isArray(parsed) || parsed.length !== 1) return undefined;
    keys.push(isPlain ? fillIn(parsed[0], values) : parsed[0]);
  }
  return { keys, rest: `${text.slice(0, heading.index)}keys: []\n${text.slice(start + section.length)}` };
}

/** Adds a value to `values` and returns its placeholder; returns a value that only YAML can interpret unchanged. */
function placeholderFor(text: string, values: (string | number)[]): string {
  if (text.startsWith('"')) values.push(text.slice(1, -1));
  else if (WHOLE_NUMBER.test(text)) values.push(Number(text));
  else if (WORD.test(text) || DIGEST.test(text)) values.push(text);
  else return text;
  return `"\uE000${values.length - 1}"`;
}

/** Replaces the placeholders in a parsed form by their values. */
function fillIn(form: unknown, values: readonly (string | number)[]): unknown {
  if (typeof form === 'string') {
    const index = PLACEHOLDER.exec(form)?.[1];
    return index === undefined ? form : values[Number(index)];
  }
  if (typeof form !== 'object' || form === null) return form;
  if (Array.isArray(form)) return form.map((child) => fillIn(child, values));
  const result: Record<string, unknown> = {};
  for (const [key, child] of Object.entries(form)) result[`${fillIn(key, values)}`] = fillIn(child, values);
  return result;
}
