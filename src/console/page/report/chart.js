import { drawChart } from '../chart/draw-chart.js';
import { h } from '../lib/preact.js';

/** A code block as a chart, which the gateway has checked; undefined if it is not one. */
export function chart({ raw }, key) {
  const body = /^```vega-lite\n([\s\S]*)\n```\s*$/.exec(raw)?.[1];
  if (body === undefined) return undefined;
  try {
    return h('figure', { key, tabindex: 0 }, element(drawChart(JSON.parse(body))));
  } catch {
    return undefined;
  }
}

/** Builds elements from shapes one by one, so that no text becomes markup. */
function element({ tag, attributes, children }, key) {
  const inside = children.map((child, index) => (typeof child === 'string' ? child : element(child, index)));
  return h(tag, { ...attributes, key }, inside);
}
