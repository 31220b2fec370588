import { isObject, parseJson } from '../../base/json.ts';
import { markdownText } from '../../base/markdown.ts';
import { type ChartSpec, channelsOf } from './chart.ts';

/** The data of charts as tables of Markdown: for readers that draw nothing, and of blocks that are no charts. */

/** Columns and letters of a cell that a table shows at most. */
const MOST_COLUMNS = 12;
const LONGEST_CELL = 200;

/** A chart as a table under its title. */
export function chartTable(chart: ChartSpec): string {
  const columns = channelsOf(chart).map(({ field, title, type }) => ({
    field,
    title: title ?? field,
    isNumber: type === 'quantitative',
  }));
  return tableOf(chart.title, columns, chart.data.values);
}

/** What of a block that is no chart can be shown as a table; undefined where it holds no rows. */
export function tableOfBlock(block: string): string | undefined {
  const spec = parseJson(block);
  if (!isObject(spec) || !isObject(spec.data) || !Array.isArray(spec.data.values)) return undefined;
  const rows = spec.data.values.filter((row) => isObject(row));
  const fields = [...new Set(rows.flatMap((row) => Object.keys(row)))].slice(0, MOST_COLUMNS);
  if (fields.length === 0) return undefined;
  const titles = titlesIn(spec.encoding);
  const columns = fields.map((field) => {
    const isNumber = rows.every((row) => typeof row[field] === 'number');
    return { field, title: titles.get(field) ?? field, isNumber };
  });
  return tableOf(typeof spec.title === 'string' ? spec.title : '', columns, rows);
}

function titlesIn(encoding: unknown): Map<string, string> {
  const titles = new Map<string, string>();
  for (const channel of isObject(encoding) ? Object.values(encoding) : []) {
    if (!isObject(channel) || typeof channel.field !== 'string' || typeof channel.title !== 'string') continue;
    titles.set(channel.field, channel.title);
  }
  return titles;
}

interface Column {
  field: string;
  title: string;
  isNumber: boolean;
}

function tableOf(title: string, columns: readonly Column[], rows: readonly Readonly<Record<string, unknown>>[]) {
  const line = (cells: readonly string[]) => `| ${cells.join(' | ')} |`;
  const lines = [
    line(columns.map(({ title }) => cellText(title))),
    line(columns.map(({ isNumber }) => (isNumber ? '---:' : '---'))),
    ...rows.map((row) => line(columns.map(({ field }) => cellText(Object.hasOwn(row, field) ? row[field] : '')))),
  ];
  const heading = cellText(title);
  return `${heading === '–' ? '' : `**${heading}**\n\n`}${lines.join('\n')}`;
}

/** A value inside of a table: text as text, in one line. */
function cellText(value: unknown): string {
  const isShown = typeof value === 'string' || (typeof value === 'number' && Number.isFinite(value));
  const text = isShown || typeof value === 'boolean' ? String(value) : '';
  const line = text
    .slice(0, LONGEST_CELL)
    .toWellFormed()
    .replace(/[\s\p{Cc}\u2028\u2029]+/gu, ' ')
    .trim();
  return line === '' ? '–' : markdownText(line).replace(/[|*_~]/g, '\\$&');
}
