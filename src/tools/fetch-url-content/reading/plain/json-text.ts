import { stripMarkup } from '../../../text/strip-markup.ts';
import { markdownTable } from '../markdown-table.ts';

/** A JSON value: fields, a list, or the text to show. Numbers keep the digits of the document. */
type Value = string | Value[] | Map<string, Value>;

/** Deeper JSON is not meant for reading. */
const MAX_DEPTH = 60;
/** How many columns a table may have. */
const MAX_COLUMNS = 12;
/** The longest text of a table's cell, in characters. */
const MAX_CELL_LENGTH = 200;

/** Writes JSON as fields with their values, and lists of similar objects as tables; undefined if it is no JSON object or list. */
export function readJsonText(text: string): string | undefined {
  const reader = new JsonReader(text);
  try {
    const value = reader.parse();
    return typeof value === 'string' ? undefined : lines(value).join('\n').trim();
  } catch (error) {
    if (error instanceof SyntaxError) return undefined;
    throw error;
  }
}

/** Not `JSON.parse`: its reviver has the digits too, but objects put keys such as `2024` before all others. */
class JsonReader {
  readonly #text: string;
  readonly #token = /\s*([{}[\],:]|"[^"\\]*(?:\\.[^"\\]*)*"|[^\s{}[\],:"]+)/sy;
  /** The next token; empty at the end. */
  #next = '';

  constructor(text: string) {
    this.#text = text;
  }

  /** @throws SyntaxError. */
  parse(): Value {
    this.#advance();
    const value = this.#value(0);
    if (this.#next !== '') throw new SyntaxError('more than one value');
    return value;
  }

  #advance(): string {
    const token = this.#next;
    const from = this.#token.lastIndex;
    const found = this.#token.exec(this.#text)?.[1];
    if (found === undefined && this.#text.slice(from).trim() !== '') throw new SyntaxError('no token');
    this.#next = found ?? '';
    // A sticky expression that fails starts over at 0.
    if (found === undefined) this.#token.lastIndex = this.#text.length;
    return token;
  }

  #value(depth: number): Value {
    if (depth > MAX_DEPTH) throw new SyntaxError('nested too deeply');
    const token = this.#advance();
    if (token === '{') return this.#fields(depth);
    if (token === '[') return this.#list(depth);
    const value: unknown = JSON.parse(token);
    return typeof value === 'string' ? value : token;
  }

  #fields(depth: number): Value {
    const fields = new Map<string, Value>();
    while (this.#next !== '}') {
      const name: unknown = JSON.parse(this.#advance());
      if (typeof name !== 'string' || this.#advance() !== ':') throw new SyntaxError('no field');
      fields.set(name, this.#value(depth + 1));
      if (this.#next !== '}' && this.#advance() !== ',') throw new SyntaxError('no end of fields');
    }
    this.#advance();
    return fields;
  }

  #list(depth: number): Value {
    const values: Value[] = [];
    while (this.#next !== ']') {
      values.push(this.#value(depth + 1));
      if (this.#next !== ']' && this.#advance() !== ',') throw new SyntaxError('no end of a list');
    }
    this.#advance();
    return values;
  }
}

function lines(value: Value): string[] {
  if (typeof value === 'string') return plainText(value).split('\n');
  return Array.isArray(value) ? listLines(value) : [...value].flatMap(([name, field]) => fieldLines(name, field));
}

function fieldLines(name: string, value: Value): string[] {
  if (isEmpty(value)) return [];
  const inside = lines(value);
  const [only = ''] = inside;
  if (typeof value === 'string' && inside.length === 1) return [`${name}: ${only}`];
  if (Array.isArray(value) && value.every(isShort))
    return [`${name}: ${value.map((item) => lines(item).join(' ')).join(', ')}`];
  return isTable(inside) ? [`${name}:`, '', ...inside, ''] : [`${name}:`, ...inside.map((line) => `  ${line}`)];
}

function listLines(values: readonly Value[]): string[] {
  const table = tableOf(values);
  if (table) return table.split('\n');
  return values.flatMap((value) => lines(value).map((line, at) => (at === 0 ? `- ${line}` : `  ${line}`)));
}

function isTable([first = '']: readonly string[]): boolean {
  return first.startsWith('| ');
}

/** A table of objects with similar fields and short values; undefined for any other list. */
function tableOf(values: readonly Value[]): string | undefined {
  const rows = values.filter((value) => value instanceof Map);
  if (rows.length < 2 || rows.length !== values.length) return undefined;
  const names = [...new Set(rows.flatMap((row) => [...row.keys()]))];
  if (names.length > MAX_COLUMNS || names.length === 0) return undefined;
  const isFlat = rows.every((row) => [...row.values()].every((value) => isShort(value) || isEmpty(value)));
  if (!isFlat || rows.some((row) => row.size < names.length / 2)) return undefined;
  return markdownTable(
    names,
    rows.map((row) => names.map((name) => cell(row.get(name)))),
  );
}

function cell(value: Value | undefined): string {
  return value === undefined || isEmpty(value) ? '' : lines(value).join(' ');
}

function isShort(value: Value): boolean {
  return typeof value === 'string' && value.length <= MAX_CELL_LENGTH && !value.includes('\n');
}

/** Whether a value is null or an empty text, list or object. */
function isEmpty(value: Value): boolean {
  if (typeof value === 'string') return value === '' || value === 'null';
  return Array.isArray(value) ? value.length === 0 : value.size === 0;
}

/** A text without its HTML markup; `List<String>` and `<jane@example.org>` are none. */
function plainText(text: string): string {
  if (!/<\/[a-z][\w-]{0,20}>|<[bh]r\b[^<>]{0,100}>|<img\s/i.test(text)) return text.trim();
  return stripMarkup(text.replace(/<(?:[bh]r|\/(?:p|div|li|h\d|t[dhr]))\b/gi, ' $&'));
}
