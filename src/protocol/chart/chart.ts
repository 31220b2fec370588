/** A chart of a report as it is drawn (docs/research.md, "Charts"). */

export type ChartValue = string | number;
/** A row has the fields that are drawn, and no others. */
export type ChartRow = Readonly<Record<string, ChartValue>>;

/** What of the rows stands along an axis, as an angle or as a colour. */
export interface ChartChannel {
  field: string;
  type: 'quantitative' | 'temporal' | 'ordinal' | 'nominal';
  title?: string | undefined;
}

export interface ChartSpec {
  title: string;
  description?: string | undefined;
  mark: 'bar' | 'line' | 'point' | 'area' | 'arc';
  encoding: {
    x?: ChartChannel | undefined;
    y?: ChartChannel | undefined;
    theta?: ChartChannel | undefined;
    color?: ChartChannel | undefined;
  };
  data: { values: ChartRow[] };
}

/** The channels of a chart in the order of a table: what is compared first. */
export function channelsOf({ encoding: { x, y, theta, color } }: ChartSpec): ChartChannel[] {
  const [first, second] = x?.type === 'quantitative' && y?.type !== 'quantitative' ? [y, x] : [x, y];
  const all = [first, color, second, theta].filter((each) => each !== undefined);
  return all.filter((each, at) => all.findIndex(({ field }) => field === each.field) === at);
}
