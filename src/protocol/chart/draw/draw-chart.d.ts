import type { ChartSpec } from '../chart.ts';
import type { MarkupNode } from '../markup-node.ts';

/** Draws a chart as a tree of SVG elements. */
export function drawChart(chart: ChartSpec): MarkupNode;
