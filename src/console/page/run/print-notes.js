import { placeOf, published } from '../format.js';
import { html, useMemo } from '../lib/preact.js';
import { unmarked } from '../words.js';
import { sortSources } from './source-cards.js';

/** How many quotations of a source a note has. */
const MAX_QUOTES = 3;

/** The cited sources of a printed report as numbered notes, with address, date and the words that support it. */
export function PrintNotes({ state }) {
  const { sources, message } = state;
  return useMemo(() => {
    const cited = Map.groupBy(message.annotations, ({ url }) => url);
    const notes = sortSources(sources).filter(({ url }) => cited.has(url));
    return html`<ul class="print-notes">${notes.map((source) => html`<${Note} key=${source.url} source=${source} annotations=${cited.get(source.url)} />`)}</ul>`;
  }, [sources, sources.version, message.annotations.length]);
}

function Note({ source: { url, title, number, published: date }, annotations }) {
  const words = new Set(annotations.map(({ cited_text: text }) => text).filter(Boolean));
  return html`<li>
    <span class="note-number">[${Number.isSafeInteger(number) ? number : '–'}]</span>
    <span dir="auto">${title || placeOf(url)}.</span> <span class="url">${url}</span>${date && html` <span dir="auto">(${published(date)})</span>`}
    ${[...words].slice(0, MAX_QUOTES).map((text) => html` <q key=${text} dir="auto">${unmarked(text)}</q>`)}
  </li>`;
}
