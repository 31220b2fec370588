import { isObject, parseJson } from '../../base/json.ts';
import { escapeMarkdown } from '../../base/markdown.ts';
import { type ChartSpec, channelsOf } from './chart.ts';

/** Markdown tables of the data of charts, for readers that cannot draw, and of blocks that are not valid charts. */

/** How many columns a table shows, and how many characters of a cell. */
const MAX_COLUMNS = 12;
const MAX_CELL_LENGTH = 200;

/** Formats a chart as a table under its title. */
export function chartTable(chart: ChartSpec): string {
  const columns = channelsOf(chart).map(({ field, title, type }) => ({
    field,
    title: title ?? field,
    isNumber: type === 'quantitative',
  }));
  return tableOf(chart.title, columns, chart.data.values);
}

/** Formats the rows of a block that is not a valid chart as a table; undefined if it has none. */
export function tableOfBlock(block: string): string | undefined {
  const spec = parseJson(block);
  if (!isObject(spec) || !isObject(spec.data) || !Array.isArray(spec.data.values)) return undefined;
  const rows = spec.data.values.filter((row) => isObject(row));
  const fields = [...new Set(rows.flatMap((row) => Object.keys(row)))].slice(0, MAX_COLUMNS);
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

/** Formats a value for a cell: on one line, with Markdown escaped. */
function cellText(value: unknown): string {
  const isPrintable = typeof value === 'string' || (typeof value === 'number' && Number.isFinite(value));
  const text = isPrintable || typeof value === 'boolean' ? String(value) : '';
  const line = text
    .slice(0, MAX_CELL_LENGTH)
    .toWellFormed()
    .replace(/[\s\p{Cc}\u2028\u2029]+/gu, ' ')
    .trim();
  return line === '' ? '–' : escapeMarkdown(line).replace(/[|*_~]/g, '\\$&');
}
