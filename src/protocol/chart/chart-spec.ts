import { z } from 'zod';
import { isObject, parseJson } from '../../base/json.ts';
import type { ChartChannel, ChartRow, ChartSpec, ChartValue } from './chart.ts';
import { checkShape } from './chart-shape.ts';

/**
 * A chart in a report: a small part of Vega-Lite (docs/research.md, "Charts"). Its data stands in it, nothing in it is
 * computed, loaded or run, and what is not known here is refused.
 */

/** Longer blocks are no charts, in UTF-16 code units. */
export const LONGEST_CHART = 64_000;
const MOST_VALUES = 500;
/** Larger numbers, and smaller ones that are not zero, are no figures of a report. */
const LARGEST = 1e15;
const SMALLEST = 1e-9;

/** Nothing in a chart leads anywhere. */
const ADDRESS = /:\/\/|^data:/i;
const text = (longest: number) =>
  z
    .string()
    .trim()
    .min(1)
    .max(longest)
    .refine((value) => !ADDRESS.test(value));
/** Vega-Lite reads dots and brackets as a way into an object. */
const field = text(100).regex(/^[^.[\]\\'"]+$/);
const channel = z.strictObject({
  field,
  type: z.enum(['quantitative', 'temporal', 'ordinal', 'nominal']),
  title: text(120).optional(),
});

const markType = z.enum(['bar', 'line', 'point', 'area', 'arc']);
/** What only changes how a chart feels or how large it is is left out of it. */
const mark = z.union([
  markType,
  z
    .strictObject({ type: markType, point: z.boolean().optional(), tooltip: z.boolean().optional() })
    .transform(({ type }) => type),
]);
const size = z.union([z.number().positive().max(10_000), z.literal('container')]).optional();

const written = z.strictObject({
  $schema: z
    .string()
    .regex(/^https:\/\/vega\.github\.io\/schema\/vega-lite\/v\d{1,2}(?:\.\d{1,3}){0,2}\.json$/)
    .optional(),
  title: text(200),
  description: text(600).optional(),
  mark,
  width: size,
  height: size,
  encoding: z.strictObject({
    x: channel.optional(),
    y: channel.optional(),
    theta: channel.optional(),
    color: channel.optional(),
  }),
  data: z.strictObject({ values: z.array(z.unknown()).min(1).max(MOST_VALUES) }),
});

/** The chart that a text describes, or undefined where it describes none. */
export function chartIn(block: string): ChartSpec | undefined {
  if (block.length > LONGEST_CHART) return undefined;
  const read = written.safeParse(parseJson(block)).data;
  if (!read) return undefined;
  const { title, description, mark, encoding, data } = read;
  const rows = data.values.map((row) => rowOf(row, Object.values(encoding)));
  const values = rows.filter((row) => row !== undefined);
  if (values.length < rows.length) return undefined;
  const chart = { title, ...(description !== undefined && { description }), mark, encoding, data: { values } };
  return checkShape(chart) ? chart : undefined;
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
