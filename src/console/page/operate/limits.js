import { compact } from '../format.js';
import { html } from '../lib/preact.js';

/** Limits and their current use: `{name, limit, used}`. */
export function Limits({ limits }) {
  return html`<ul class="limits">${limits.map(({ name, limit, used }) => {
    const label = name.replaceAll('_', ' ');
    return html`<li key=${name}>
      <span dir="auto">${label}</span>
      <meter min="0" max=${limit} high=${limit * 0.9} value=${Math.min(limit, used)} aria-label=${label}></meter>
      <span>${format(used)} of ${format(limit)}</span>
    </li>`;
  })}</ul>`;
}

/** Costs have fractions. */
function format(value) {
  return Number.isInteger(value) ? compact(value) : value.toFixed(2);
}
