import { stripMarkup } from '../../../text/strip-markup.ts';
import { markdownTable } from '../markdown-table.ts';

/** A value of JSON: fields, a list, or text that is shown. Numbers are the digits of the document. */
type Value = string | Value[] | Map<string, Value>;

/** What is nested deeper is no answer that somebody reads. */
const MAX_DEPTH = 60;
/** More fields are no row of a table. */
const MAX_COLUMNS = 12;
/** A longer text is no cell of one, in characters. */
const LONGEST_CELL = 200;

/** JSON as fields with their values, and lists of like objects as tables; undefined for what is no JSON. */
export function readJsonText(text: string): string | undefined {
  const reader = new JsonReader(text);
  try {
    const value = reader.whole();
    return typeof value === 'string' ? undefined : lines(value).join('\n').trim();
  } catch (error) {
    if (error instanceof SyntaxError) return undefined;
    throw error;
  }
}

class JsonReader {
  readonly #text: string;
  readonly #token = /\s*([{}[\],:]|"[^"\\]*(?:\\.[^"\\]*)*"|[^\s{}[\],:"]+)/sy;
  /** The token that comes next; empty at the end. */
  #next = '';

  constructor(text: string) {
    this.#text = text;
  }

  /** @throws SyntaxError. */
  whole(): Value {
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
    // At the end the expression begins anew.
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
  if (typeof value === 'string') return shown(value).split('\n');
  return Array.isArray(value) ? listLines(value) : [...value].flatMap(([name, field]) => fieldLines(name, field));
}

function fieldLines(name: string, value: Value): string[] {
  if (isEmpty(value)) return [];
  const inside = lines(value);
  const [only = ''] = inside;
  if (typeof value === 'string' && inside.length === 1) return [`${name}: ${only}`];
  if (Array.isArray(value) && value.every(isShort))
    return [`${name}: ${value.map((each) => lines(each).join(' ')).join(', ')}`];
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

/** Objects of like fields that are short, as a table. */
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
  return typeof value === 'string' && value.length <= LONGEST_CELL && !value.includes('\n');
}

/** What says nothing: null, empty texts, lists and objects. */
function isEmpty(value: Value): boolean {
  if (typeof value === 'string') return value === '' || value === 'null';
  return Array.isArray(value) ? value.length === 0 : value.size === 0;
}

/** Texts that are HTML, as their text. */
function shown(text: string): string {
  return /<\/?[a-z][^<>]{0,500}>/i.test(text) ? stripMarkup(text) : text.trim();
}
