import { counted, number } from '../format.js';
import { html, useRef } from '../lib/preact.js';

/** The counts of a response's `claims`, in the order of trust. `leads`: the count leads to its citations. */
const COUNTS = [
  { name: 'quoted', word: 'quoted' },
  { name: 'partial', word: 'partial', leads: true },
  { name: 'none', word: 'not found', leads: true },
  { name: 'unchecked', word: 'not read', leads: true },
  { name: 'unmarked', word: 'without a source' },
];

/** How well the sources support the report. `onNext` shows the next citation of a kind after the last one. */
export function Claims({ claims, onNext }) {
  const last = useRef({});
  if (!claims) return null;
  const total = COUNTS.reduce((sum, { name }) => sum + claims[name], 0);
  if (total === 0) return null;
  const next = (name) => () => {
    last.current[name] = onNext(name, last.current[name] ?? -1);
  };
  const counts = COUNTS.filter(({ name }) => claims[name] > 0);
  return html`<p class="claims" role="group" aria-label="Claims">
    <strong>${counted(total, 'claim')}</strong>${counts.map(({ name, word, leads }) => {
      const text = `${number(claims[name])} ${word}`;
      if (!leads) return html`<span key=${name}>, ${text}</span>`;
      return html`<span key=${name}>, <button type="button" class="link" data-support=${name} title="Show the next one" onClick=${next(name)}>${text}</button></span>`;
    })}
  </p>`;
}

/** Focuses the next citation of this kind after the index. Returns its index. */
export function focusNext(report, { kind, after }) {
  const found = [...report.querySelectorAll(`.cite[data-support="${kind}"]`)];
  if (found.length === 0) return -1;
  const index = (after + 1) % found.length;
  found[index].focus({ preventScroll: true });
  found[index].scrollIntoView({ block: 'center' });
  return index;
}
