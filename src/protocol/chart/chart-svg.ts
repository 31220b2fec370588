import type { ChartSpec } from './chart.ts';
import { type ChartNode, drawChart } from './draw/draw-chart.js';

/** A chart as SVG that stands in a document. */
export function chartSvg(chart: ChartSpec): string {
  return svgText(drawChart(chart));
}

function svgText({ tag, attributes, children }: ChartNode): string {
  const own = Object.entries(attributes).map(([name, value]) => ` ${name}="${escaped(String(value))}"`);
  const inside = children.map((child) => (typeof child === 'string' ? escaped(child) : svgText(child)));
  return `<${tag}${own.join('')}>${inside.join('')}</${tag}>`;
}

const ESCAPES: Readonly<Record<string, string>> = { '&': '&amp;', '<': '&lt;', '>': '&gt;', '"': '&quot;' };

function escaped(text: string): string {
  return text.replace(/[&<>"]/g, (letter) => ESCAPES[letter] ?? '');
}
