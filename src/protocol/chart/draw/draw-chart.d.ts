import type { MarkupNode } from '../../drawn-node.ts';
import type { ChartSpec } from '../chart.ts';

/** The elements of a chart. */
export function drawChart(chart: ChartSpec): MarkupNode;
