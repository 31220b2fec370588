import { MAX_CONTENT } from '../../parsing/parse-job.ts';
import { type CellRow, cellTables } from '../cell-tables.ts';
import { markdownTable } from '../markdown-table.ts';

/**
 * Converts CSV (RFC 4180, or with semicolons, tabs or bars) to a Markdown table; a long file to several, each with the
 * first row above it and `[Cells A2:D20]` before it. Text that is no table stays text. Stops after the table that exceeds
 * `maxLength` UTF-16 code units. papaparse is no substitute: it makes one cell of `"a, b" c,2`, and loses a column.
 */
export function readCsv(text: string, maxLength = MAX_CONTENT): string {
  const separator = separatorOf(text);
  const [first, second] = [...rowsOf(text.slice(0, SAMPLE_LENGTH), separator)];
  if (!first || !second || first.cells.length < 2) return text;
  const tables: string[] = [];
  let length = 0;
  let mark = '';
  for (const { mark: place, rows } of cellTables(rowsOf(text, separator))) {
    const [head = [], ...body] = rows;
    const table = markdownTable(head, body);
    mark ||= place;
    tables.push(tables.length === 0 ? table : `${place}\n\n${table}`);
    length += tables.at(-1)?.length ?? 0;
    if (length > maxLength) break;
  }
  return tables.length === 1 ? (tables[0] ?? '') : `${mark}\n\n${tables.join('\n\n')}`;
}

/** How much of a text decides whether it is a table, in characters. */
const SAMPLE_LENGTH = 20_000;

function separatorOf(text: string): string {
  const line = text.slice(0, 4000).split(/\r?\n/, 1)[0] ?? '';
  const counts = [',', ';', '\t', '|'].map((mark) => ({ mark, count: line.split(mark).length }));
  return counts.reduce((best, next) => (next.count > best.count ? next : best)).mark;
}

function* rowsOf(text: string, separator: string): Generator<CellRow> {
  let number = 0;
  let row: string[] = [];
  let at = 0;
  while (at < text.length) {
    const cell = text[at] === '"' ? quotedCell(text, at, separator) : plainCell(text, at, separator);
    row.push(cell.value);
    at = cell.end;
    if (text[at] === separator) {
      at += 1;
      if (at === text.length) row.push('');
      continue;
    }
    if (text[at] === '\r') at += 1;
    if (text[at] === '\n') at += 1;
    if (row.length > 1 || row[0] !== '') yield { number: ++number, cells: row };
    row = [];
  }
  // A separator at the end of the text has an empty cell after it.
  if (row.length > 1) yield { number: number + 1, cells: row };
}

function plainCell(text: string, start: number, separator: string): { value: string; end: number } {
  let end = start;
  while (end < text.length && text[end] !== separator && text[end] !== '\n' && text[end] !== '\r') end += 1;
  return { value: text.slice(start, end), end };
}

function quotedCell(text: string, start: number, separator: string): { value: string; end: number } {
  const parts: string[] = [];
  let from = start + 1;
  for (;;) {
    const quote = text.indexOf('"', from);
    if (quote < 0) return { value: parts.join('') + text.slice(from), end: text.length };
    parts.push(text.slice(from, quote));
    if (text[quote + 1] !== '"') {
      // Text between the closing quote and the separator is not valid CSV, but in use.
      const { value, end } = plainCell(text, quote + 1, separator);
      return { value: parts.join('') + value, end };
    }
    parts.push('"');
    from = quote + 2;
  }
}
