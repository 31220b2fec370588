import { z } from 'zod';

/**
 * A chart in a report: a small subset of Vega-Lite (docs/research.md, "Charts"). Its data is inline, nothing in it is
 * computed, loaded or executed, and anything unknown is refused.
 */

const MAX_ROWS = 500;

/** Addresses, which no text of a chart may contain. */
export const ADDRESS = /:\/\/|^data:/i;
const text = (maxLength: number) =>
  z
    .string()
    .trim()
    .min(1)
    .max(maxLength)
    .refine((value) => !ADDRESS.test(value));
/** No dots or brackets, which Vega-Lite reads as the path to a nested field. */
const field = text(100).regex(/^[^.[\]\\'"]+$/);
const channel = z.strictObject({
  field,
  type: z.enum(['quantitative', 'temporal', 'ordinal', 'nominal']),
  title: text(120).optional(),
});

const markType = z.enum(['bar', 'line', 'point', 'area', 'arc']);
/** The mark's type. Options of it that only affect interaction are accepted and dropped. */
const mark = z.union([
  markType,
  z
    .strictObject({ type: markType, point: z.boolean().optional(), tooltip: z.boolean().optional() })
    .transform(({ type }) => type),
]);
const size = z.union([z.number().positive().max(10_000), z.literal('container')]).optional();

export const chartInput = z.strictObject({
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
  data: z.strictObject({ values: z.array(z.unknown()).min(1).max(MAX_ROWS) }),
});

export type ChartChannel = z.output<typeof channel>;
export type ChartValue = string | number;
/** A row, with only those fields that are drawn. */
export type ChartRow = Readonly<Record<string, ChartValue>>;
/** A validated chart. */
export type ChartSpec = Pick<z.output<typeof chartInput>, 'title' | 'description' | 'mark' | 'encoding'> & {
  data: { values: ChartRow[] };
};

/** The channels of a chart in the order of table columns: what is compared comes before what is measured. */
export function channelsOf({ encoding: { x, y, theta, color } }: ChartSpec): ChartChannel[] {
  const [first, second] = x?.type === 'quantitative' && y?.type !== 'quantitative' ? [y, x] : [x, y];
  const all = [first, color, second, theta].filter((each) => each !== undefined);
  return all.filter((each, at) => all.findIndex(({ field }) => field === each.field) === at);
}
