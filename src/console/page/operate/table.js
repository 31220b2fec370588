import { html } from '../lib/preact.js';

/** A table that scrolls if it is too wide. `numbers`: columns from this one on hold numbers. */
export function Table({ columns, rows, label = columns[0], numbers = columns.length }) {
  const align = (index) => (index >= numbers ? 'end' : undefined);
  return html`<div class="table" role="region" aria-label=${label} tabindex="0"><table>
    <thead><tr>${columns.map((name, index) => html`<th scope="col" data-align=${align(index)} key=${name}>${name}</th>`)}</tr></thead>
    <tbody>${rows.map((row, at) => html`<tr key=${at}>${row.map((cell, index) => html`<td dir=${typeof cell === 'string' ? 'auto' : undefined} data-align=${align(index)} key=${index}>${cell}</td>`)}</tr>`)}</tbody>
  </table></div>`;
}
