import { markdownTable } from '../markdown-table.ts';

const MAX_ROWS = 20_000;

/**
 * A CSV file (RFC 4180, or with semicolons, tabs or bars) as a Markdown table; text that is no table stays text.
 * papaparse is no substitute: it makes one cell of `"a, b" c,2`, and loses a column.
 */
export function readCsv(text: string): string {
  const rows = parseRows(text, separatorOf(text));
  const columns = rows[0]?.length ?? 0;
  if (columns < 2 || rows.length < 2) return text;
  const [head = [], ...body] = rows;
  return markdownTable(head, body);
}

function separatorOf(text: string): string {
  const line = text.slice(0, 4000).split(/\r?\n/, 1)[0] ?? '';
  const counts = [',', ';', '\t', '|'].map((mark) => ({ mark, count: line.split(mark).length }));
  return counts.reduce((best, next) => (next.count > best.count ? next : best)).mark;
}

function parseRows(text: string, separator: string): string[][] {
  const rows: string[][] = [];
  let row: string[] = [];
  let at = 0;
  while (at < text.length && rows.length < MAX_ROWS) {
    const cell = text[at] === '"' ? quotedCell(text, at) : plainCell(text, at, separator);
    row.push(cell.value);
    at = cell.end;
    if (text[at] === separator) {
      at += 1;
      if (at === text.length) row.push('');
      continue;
    }
    if (text[at] === '\r') at += 1;
    if (text[at] === '\n') at += 1;
    if (row.length > 1 || row[0] !== '') rows.push(row);
    row = [];
  }
  return rows;
}

function plainCell(text: string, start: number, separator: string): { value: string; end: number } {
  let end = start;
  while (end < text.length && text[end] !== separator && text[end] !== '\n' && text[end] !== '\r') end += 1;
  return { value: text.slice(start, end), end };
}

function quotedCell(text: string, start: number): { value: string; end: number } {
  const parts: string[] = [];
  let from = start + 1;
  for (;;) {
    const quote = text.indexOf('"', from);
    if (quote < 0) return { value: parts.join('') + text.slice(from), end: text.length };
    parts.push(text.slice(from, quote));
    if (text[quote + 1] !== '"') {
      let end = quote + 1;
      // What stands between the closing quote and the separator is no CSV; it is dropped.
      while (end < text.length && !/[,;\t|\r\n]/.test(text[end] ?? '')) end += 1;
      return { value: parts.join(''), end };
    }
    parts.push('"');
    from = quote + 2;
  }
}
