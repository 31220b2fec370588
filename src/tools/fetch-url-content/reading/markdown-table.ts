import { toSingleLine } from '../../../base/text.ts';

/** Writes a Markdown table (GFM). Each cell is put on one line; short rows are filled up. */
export function markdownTable(head: readonly string[], body: readonly (readonly string[])[]): string {
  const columns = Math.max(head.length, ...body.slice(0, 1000).map((row) => row.length));
  const line = (cells: readonly string[]) =>
    `| ${Array.from({ length: columns }, (_, at) => cellText(cells[at] ?? '')).join(' | ')} |`;
  return [line(head), `|${' --- |'.repeat(columns)}`, ...body.map(line)].join('\n');
}

function cellText(text: string): string {
  return toSingleLine(text).replaceAll('|', '\\|');
}
