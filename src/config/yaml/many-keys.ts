/** Smaller files are read fast enough as they are; in characters. */
const MANY_FROM = 64 * 1024;
const SECTION = /^keys:[ \t]*\r?\n(?=( *- ))/m;
/** Text that has any of these is not looked into: quotes within quotes, comments, references, blocks of text. */
const NOT_PLAIN = /['#\\$&*!|>%`\uE000]/;
/** A value alone in its place: quoted, or a word or number that ends where YAML says that it ends. */
const VALUE = /(?<=: |- |\[ ?|, )(?:"[^"\n]*"|[\w./@-]+)(?= *(?:[,}\]\r\n]|$))/g;
const WHOLE_NUMBER = /^(?:0|[1-9]\d{0,14})$/;
const WORD = /^(?!(?:true|false|null)$)[a-z][\w./@-]*$/i;
/** A digest that cannot be read as `12e5` can. */
const DIGEST = /^(?=.*[a-df])[0-9a-f]{64}$/;
const PLACE = /^\uE000(\d+)$/;

/** What a file of many keys says of them, and the file without them. */
export interface ManyKeysFile {
  keys: unknown[];
  rest: string;
}

/**
 * Reads the list of keys of a large file. Its entries differ in their values and hardly in their form, and YAML's parser
 * takes most of a start with ten thousand: each form is read by it once, with places where the values stood. Undefined
 * where the list is not so simple, or where `readItems` finds a problem: then the whole file is read as any.
 * @param readItems The value of a list in YAML, undefined where it has a problem.
 */
export function readManyKeys(text: string, readItems: (yaml: string) => unknown): ManyKeysFile | undefined {
  const head = text.length < MANY_FROM ? null : SECTION.exec(text);
  if (head === null) return undefined;
  const start = head.index + head[0].length;
  const length = text.slice(start).search(/^[^\s#-]/m);
  const section = length === -1 ? text.slice(start) : text.slice(start, start + length);
  const dash = head[1] ?? '';
  const forms = new Map<string, unknown>();
  const keys: unknown[] = [];
  for (const entry of section.slice(dash.length).split(`\n${dash}`)) {
    const item = dash + entry;
    const values: (string | number)[] = [];
    const isPlain = !NOT_PLAIN.test(item);
    const form = isPlain ? item.replace(VALUE, (value) => placeOf(value, values)) : item;
    if (!forms.has(form)) forms.set(form, readItems(form));
    const read = forms.get(form);
    if (!Array.isArray(read) || read.length !== 1) return undefined;
    keys.push(isPlain ? filled(read[0], values) : read[0]);
  }
  return { keys, rest: `${text.slice(0, head.index)}keys: []\n${text.slice(start + section.length)}` };
}

/** What stands in the form for a value, which is noted; the value itself where it takes YAML to say what it is. */
function placeOf(text: string, values: (string | number)[]): string {
  if (text.startsWith('"')) values.push(text.slice(1, -1));
  else if (WHOLE_NUMBER.test(text)) values.push(Number(text));
  else if (WORD.test(text) || DIGEST.test(text)) values.push(text);
  else return text;
  return `"\uE000${values.length - 1}"`;
}

function filled(form: unknown, values: readonly (string | number)[]): unknown {
  if (typeof form === 'string') {
    const place = PLACE.exec(form)?.[1];
    return place === undefined ? form : values[Number(place)];
  }
  if (typeof form !== 'object' || form === null) return form;
  if (Array.isArray(form)) return form.map((child) => filled(child, values));
  const made: Record<string, unknown> = {};
  for (const [key, child] of Object.entries(form)) made[key] = filled(child, values);
  return made;
}
