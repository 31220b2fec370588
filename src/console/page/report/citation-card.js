import { line, placeOf, published } from '../format.js';
import { html, useEffect, useLayoutEffect, useRef } from '../lib/preact.js';
import { supportOf } from './support.js';

const ID = 'citation-card';
/** The distance between a citation and its card, in pixels. */
const GAP = 6;

/** What the source says, beside the hovered or focused citation. `shown`: `{annotation, element}`. */
export function CitationCard({ shown, sourceOf, onHold, onLeave, onClose }) {
  const card = useRef(null);
  const { annotation, element } = shown;
  const source = sourceOf(annotation.url);
  const support = supportOf(annotation, source);
  useLayoutEffect(() => {
    place(card.current, element);
    element.setAttribute('aria-describedby', ID);
    return () => element.removeAttribute('aria-describedby');
  }, [element]);
  useEffect(() => {
    const keys = (event) => event.key === 'Escape' && onClose();
    addEventListener('keydown', keys);
    // The card does not move with its citation.
    addEventListener('resize', onClose);
    return () => {
      removeEventListener('keydown', keys);
      removeEventListener('resize', onClose);
    };
  }, []);
  const words = annotation.cited_text;
  return html`<div class="citation-card" role="tooltip" id=${ID} ref=${card} onPointerEnter=${onHold} onPointerLeave=${onLeave}>
    ${words ? html`<blockquote dir="auto">${line(words, 600)}</blockquote>` : html`<p class="quiet">No matching words were found in this source.</p>`}
    <p class="citation-title" dir="auto">${line(annotation.title || placeOf(annotation.url), 140)}</p>
    <p class="citation-about">
      <span class="url" dir="auto">${placeOf(annotation.url)}</span>
      ${source?.published && html`<span dir="auto">${published(source.published)}</span>`}
      ${support && html`<span class="mark" data-support=${support.kind}>${support.word}</span>`}
    </p>
    ${support?.doubt && html`<p class="citation-about">${support.about}</p>`}
  </div>`;
}

/** Places the card below the citation, or above it at the end of the window, within the width of the text. */
function place(card, element) {
  const container = card.offsetParent.getBoundingClientRect();
  const cited = element.getBoundingClientRect();
  const left = Math.max(0, Math.min(cited.left - container.left - GAP, container.width - card.offsetWidth));
  const above = cited.bottom + GAP + card.offsetHeight > innerHeight && cited.top - card.offsetHeight - GAP > 0;
  const top = above ? cited.top - card.offsetHeight - GAP : cited.bottom + GAP;
  card.style.left = `${left}px`;
  card.style.top = `${top - container.top}px`;
}
