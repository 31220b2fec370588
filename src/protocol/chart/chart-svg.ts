import type { ChartSpec } from './chart.ts';
import { drawChart } from './draw/draw-chart.js';
import { renderMarkup } from './markup-node.ts';

/** Renders a chart as SVG to embed in a document. */
export function chartSvg(chart: ChartSpec): string {
  return renderMarkup(drawChart(chart));
}
