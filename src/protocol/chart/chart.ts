import { z } from 'zod';

/**
 * A chart in a report: a small part of Vega-Lite (docs/research.md, "Charts"). Its data stands in it, nothing in it is
 * computed, loaded or run, and what is not known here is refused.
 */

const MOST_VALUES = 500;

/** Nothing in a chart leads anywhere. */
export const ADDRESS = /:\/\/|^data:/i;
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
  data: z.strictObject({ values: z.array(z.unknown()).min(1).max(MOST_VALUES) }),
});

export type ChartChannel = z.output<typeof channel>;
export type ChartValue = string | number;
/** A row has the fields that are drawn, and no others. */
export type ChartRow = Readonly<Record<string, ChartValue>>;
/** A chart as it is drawn. */
export type ChartSpec = Pick<z.output<typeof chartInput>, 'title' | 'description' | 'mark' | 'encoding'> & {
  data: { values: ChartRow[] };
};

/** The channels of a chart in the order of a table: what is compared first. */
export function channelsOf({ encoding: { x, y, theta, color } }: ChartSpec): ChartChannel[] {
  const [first, second] = x?.type === 'quantitative' && y?.type !== 'quantitative' ? [y, x] : [x, y];
  const all = [first, color, second, theta].filter((each) => each !== undefined);
  return all.filter((each, at) => all.findIndex(({ field }) => field === each.field) === at);
}
