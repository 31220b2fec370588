import { drawChart } from '../chart/draw-chart.js';
import { h } from '../lib/preact.js';

/** A block of code as a chart, which the gateway has checked; undefined where it is none. */
export function chart({ raw }, key) {
  const body = /^```vega-lite\n([\s\S]*)\n```\s*$/.exec(raw)?.[1];
  if (body === undefined) return undefined;
  try {
    return h('figure', { key, tabindex: 0 }, element(drawChart(JSON.parse(body))));
  } catch {
    return undefined;
  }
}

/** Shapes as elements, one by one: no text becomes markup. */
function element({ tag, attributes, children }, key) {
  const inside = children.map((child, index) => (typeof child === 'string' ? child : element(child, index)));
  return h(tag, { ...attributes, key }, inside);
}
