import { compact } from '../format.js';
import { html } from '../lib/preact.js';

/** Limits with what counts against them now: `{name, limit, used}`. */
export function Limits({ limits }) {
  return html`<ul class="limits">${limits.map(({ name, limit, used }) => {
    const label = name.replaceAll('_', ' ');
    return html`<li key=${name}>
      <span dir="auto">${label}</span>
      <meter min="0" max=${limit} high=${limit * 0.9} value=${Math.min(limit, used)} aria-label=${label}></meter>
      <span>${shown(used)} of ${shown(limit)}</span>
    </li>`;
  })}</ul>`;
}

/** Costs have parts. */
function shown(value) {
  return Number.isInteger(value) ? compact(value) : value.toFixed(2);
}
