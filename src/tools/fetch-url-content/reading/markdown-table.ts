import { toSingleLine } from '../../../base/text.ts';

/** How many columns short rows are filled up to: rows of a wider table would become far longer than they are. */
const MAX_FILLED = 200;

/** Writes a Markdown table (GFM). Each cell is put on one line; short rows are filled up. */
export function markdownTable(head: readonly string[], body: readonly (readonly string[])[]): string {
  const columns = body.reduce((most, row) => Math.max(most, row.length), head.length);
  const line = (cells: readonly string[], length: number) =>
    `| ${Array.from({ length }, (_, at) => cellText(cells[at] ?? '')).join(' | ')} |`;
  const rows = body.map((row) => line(row, columns > MAX_FILLED ? row.length : columns));
  return [line(head, columns), `|${' --- |'.repeat(columns)}`, ...rows].join('\n');
}

function cellText(text: string): string {
  return toSingleLine(text).replaceAll('|', '\\|');
}
