import { counted } from '../format.js';
import { html } from '../lib/preact.js';
import { Icon } from '../parts/icons.js';
import { reasonInWords } from './reasons.js';

/** How many warnings of one kind are listed. */
const MAX_SHOWN = 5;

/** What a reader should know before reading: failures, cuts, warnings. */
export function Notes({ response }) {
  if (!response) return null;
  const { status, error, incomplete_details: incomplete, warnings = [] } = response;
  const notes = [];
  if (status === 'failed') notes.push({ bad: true, title: 'The run failed.', text: error?.message, code: error?.code });
  if (status === 'cancelled') notes.push({ title: 'The run was stopped.', text: 'This is all that it wrote.' });
  if (incomplete?.reason) notes.push({ title: reasonInWords(incomplete.reason) });
  for (const [code, group] of Map.groupBy(warnings, ({ code }) => code)) {
    if (code === 'no_sources' && incomplete?.reason === 'no_sources') continue;
    for (const { message, param } of group.slice(0, MAX_SHOWN))
      notes.push({ title: message, code: param ? `${code}, ${param}` : code });
    if (group.length > MAX_SHOWN)
      notes.push({ title: `${counted(group.length - MAX_SHOWN, 'more warning')} of this kind.`, code });
  }
  if (notes.length === 0) return null;
  return html`<ul class="notes">
    ${notes.map(
      ({ bad, title, text, code }, at) => html`<li key=${at} data-bad=${bad === true}>
        <${Icon} name="warn" />
        <div><p dir="auto">${title}${text ? ` ${text}` : ''}</p>${code && html`<p class="detail">${code}</p>`}</div>
      </li>`,
    )}
  </ul>`;
}
