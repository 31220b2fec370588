import { isObject, parseJson } from '../../base/json.ts';
import { ADDRESS, type ChartChannel, type ChartRow, type ChartSpec, type ChartValue, chartInput } from './chart.ts';
import { hasValidShape } from './chart-shape.ts';

/** Longer blocks are no charts, in UTF-16 code units. */
export const LONGEST_CHART = 64_000;
/** Larger numbers, and smaller ones that are not zero, are no figures of a report. */
const LARGEST = 1e15;
const SMALLEST = 1e-9;

/** The chart that a text describes, or undefined where it describes none. */
export function chartIn(block: string): ChartSpec | undefined {
  if (block.length > LONGEST_CHART) return undefined;
  const read = chartInput.safeParse(parseJson(block)).data;
  if (!read) return undefined;
  const { title, description, mark, encoding, data } = read;
  const rows = data.values.map((row) => rowOf(row, Object.values(encoding)));
  const values = rows.filter((row) => row !== undefined);
  if (values.length < rows.length) return undefined;
  const chart = { title, ...(description !== undefined && { description }), mark, encoding, data: { values } };
  return hasValidShape(chart) ? chart : undefined;
}

/** A chart as its block holds it. */
export function chartBlock({ data, ...rest }: ChartSpec): string {
  const head = JSON.stringify(rest, null, 2).slice(0, -2);
  const rows = data.values.map((row) => `    ${JSON.stringify(row)}`).join(',\n');
  return `${head},\n  "data": {"values": [\n${rows}\n  ]}\n}`;
}

/** What of a row is drawn; undefined where something is missing or of another kind. */
function rowOf(row: unknown, channels: readonly ChartChannel[]): ChartRow | undefined {
  if (!isObject(row)) return undefined;
  const own: [string, ChartValue][] = [];
  for (const { field, type } of channels) {
    const value = Object.hasOwn(row, field) ? row[field] : undefined;
    if (!isValue(value, type)) return undefined;
    own.push([field, value]);
  }
  return Object.fromEntries(own);
}

const DAY = /^[12]\d{3}(?:-(?:0[1-9]|1[0-2])(?:-(?:0[1-9]|[12]\d|3[01]))?)?$/;

function isValue(value: unknown, type: ChartChannel['type']): value is ChartValue {
  if (typeof value === 'number') {
    if (type === 'temporal') return Number.isInteger(value) && value >= 1000 && value < 3000;
    const size = Math.abs(value);
    return size === 0 || (size >= SMALLEST && size <= LARGEST);
  }
  if (typeof value !== 'string' || type === 'quantitative') return false;
  return type === 'temporal' ? DAY.test(value) : value.trim() !== '' && value.length <= 120 && !ADDRESS.test(value);
}
