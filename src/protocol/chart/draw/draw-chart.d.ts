import type { ChartSpec } from '../chart.ts';

/** An element of a drawing. */
export interface ChartNode {
  tag: string;
  attributes: Readonly<Record<string, string | number>>;
  children: readonly (ChartNode | string)[];
}

/** The elements of a chart. */
export function drawChart(chart: ChartSpec): ChartNode;
