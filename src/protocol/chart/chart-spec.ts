import { isObject, parseJson } from '../../base/json.ts';
import { ADDRESS, type ChartChannel, type ChartRow, type ChartSpec, type ChartValue, chartInput } from './chart.ts';
import { hasValidShape } from './chart-shape.ts';

/** Longer blocks are not charts, in UTF-16 code units. */
export const MAX_CHART_LENGTH = 64_000;
/** Magnitudes that a report may chart; zero is allowed too. */
const MAX_MAGNITUDE = 1e15;
const MIN_MAGNITUDE = 1e-9;

/** Parses the JSON of a chart block; undefined if it is not a valid chart. */
export function parseChart(block: string): ChartSpec | undefined {
  if (block.length > MAX_CHART_LENGTH) return undefined;
  const input = chartInput.safeParse(parseJson(block)).data;
  if (!input) return undefined;
  const { title, description, mark, encoding, data } = input;
  const rows = data.values.map((row) => rowOf(row, Object.values(encoding)));
  const values = rows.filter((row) => row !== undefined);
  if (values.length < rows.length) return undefined;
  const chart = { title, ...(description !== undefined && { description }), mark, encoding, data: { values } };
  return hasValidShape(chart) ? chart : undefined;
}

/** Formats a chart as the JSON of its block, one line per row. */
export function formatChart({ data, ...rest }: ChartSpec): string {
  const head = JSON.stringify(rest, null, 2).slice(0, -2);
  const rows = data.values.map((row) => `    ${JSON.stringify(row)}`).join(',\n');
  return `${head},\n  "data": {"values": [\n${rows}\n  ]}\n}`;
}

/** The fields of a row that are drawn; undefined if one is missing or has the wrong type. */
function rowOf(row: unknown, channels: readonly ChartChannel[]): ChartRow | undefined {
  if (!isObject(row)) return undefined;
  const fields: [string, ChartValue][] = [];
  for (const { field, type } of channels) {
    const value = Object.hasOwn(row, field) ? row[field] : undefined;
    if (!isValue(value, type)) return undefined;
    fields.push([field, value]);
  }
  return Object.fromEntries(fields);
}

const DAY = /^[12]\d{3}(?:-(?:0[1-9]|1[0-2])(?:-(?:0[1-9]|[12]\d|3[01]))?)?$/;

function isValue(value: unknown, type: ChartChannel['type']): value is ChartValue {
  if (typeof value === 'number') {
    if (type === 'temporal') return Number.isInteger(value) && value >= 1000 && value < 3000;
    const magnitude = Math.abs(value);
    return magnitude === 0 || (magnitude >= MIN_MAGNITUDE && magnitude <= MAX_MAGNITUDE);
  }
  if (typeof value !== 'string' || type === 'quantitative') return false;
  return type === 'temporal' ? DAY.test(value) : value.trim() !== '' && value.length <= 120 && !ADDRESS.test(value);
}
