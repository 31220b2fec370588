import { createContext, html, useCallback, useContext, useEffect, useMemo, useRef, useState } from '../lib/preact.js';
import { numberOf } from '../run/fold.js';
import { wordStart } from '../words.js';
import { CitationCard } from './citation-card.js';
import { copySelection } from './copy-selection.js';
import { groups } from './markdown.js';
import { headingsIn } from './outline.js';
import { nameOfCitation, supportOf } from './support.js';
import { useMarkdown } from './use-markdown.js';

/** How many characters of a report decide its language. */
const LANGUAGE_SAMPLE = 2000;
/** How long the pointer may take from a citation to its card, in milliseconds. */
const LEAVE_MS = 220;

/** The actions of citations: `{open(annotation, element), look(annotation, element), leave(), sourceOf(url)}`. */
const Cited = createContext(null);

const unknown = () => undefined;

/**
 * The report as it is written: Markdown with citations that open.
 * @param charts whether chart blocks are drawn; @param onCite `(annotation, claim)`; @param sourceOf the run's source for an
 * address; @param onHeadings `(headings)`, with each change of the report's headings.
 */
export function ReportView({ text, annotations, charts = false, writing, onCite, sourceOf = unknown, onHeadings }) {
  const { tokens, markers, plain } = useMarkdown({ text, annotations, writing });
  const start = text.slice(0, LANGUAGE_SAMPLE);
  const language = useMemo(() => languageOf(start), [start]);
  const [card, hovering] = useCard();
  const open = useCallback(
    (annotation, element) => {
      hovering.close();
      onCite(annotation, claimAround(element));
    },
    [onCite],
  );
  const cited = useMemo(() => ({ ...hovering, open, sourceOf }), [open, sourceOf]);
  const context = useMemo(() => ({ markers, Cite, charts }), [markers, charts]);
  const headings = useMemo(() => headingsIn(tokens), [tokens]);
  const outline = JSON.stringify(headings);
  useEffect(() => onHeadings?.(headings), [outline]);
  return html`<${Cited.Provider} value=${cited}>
    <div class="prose-home">
      <div class="prose" data-writing=${writing} lang=${language} onCopy=${(event) => copySelection(event, annotations)}>
        ${tokens ? groups(tokens, context) : html`<p class="as-is">${plain}</p>`}
      </div>
      ${card && html`<${CitationCard} key=${card.key} shown=${card} sourceOf=${sourceOf} onHold=${hovering.hold} onLeave=${hovering.leave} onClose=${hovering.close} />`}
    </div>
  <//>`;
}

/** The open card, if any, and the functions to open and close it. It stays open while the pointer moves to it. */
function useCard() {
  const [card, setCard] = useState(null);
  const leaving = useRef(0);
  const hovering = useMemo(() => {
    const hold = () => clearTimeout(leaving.current);
    const close = () => {
      hold();
      setCard(null);
    };
    const leave = () => {
      hold();
      leaving.current = setTimeout(close, LEAVE_MS);
    };
    const look = (annotation, element) => {
      hold();
      setCard((before) =>
        before?.element === element ? before : { annotation, element, key: (before?.key ?? 0) + 1 },
      );
    };
    return { hold, close, leave, look };
  }, []);
  useEffect(() => () => clearTimeout(leaving.current), []);
  return [card, hovering];
}

function Cite({ marker }) {
  const cited = useContext(Cited);
  return html`<span class="cites">${marker.annotations.map((annotation) => {
    const source = cited.sourceOf(annotation.url);
    const look = ({ currentTarget }) => cited.look(annotation, currentTarget);
    return html`<button
      type="button"
      class="cite"
      data-support=${supportOf(annotation, source)?.kind}
      aria-label=${nameOfCitation(annotation, source)}
      onPointerEnter=${(event) => event.pointerType !== 'touch' && look(event)}
      onPointerLeave=${cited.leave}
      onFocus=${(event) => event.currentTarget.matches(':focus-visible') && look(event)}
      onBlur=${cited.leave}
      onClick=${(event) => cited.open(annotation, event.currentTarget)}
    >
      ${numberOf(annotation)}
    </button>`;
  })}</span>`;
}

/** A character that no text contains. */
const GAP = '\ue000';

/** The sentence before a citation. */
function claimAround(element) {
  const home = element.closest('p, li, td, th, blockquote, h2, h3, h4, h5, h6') ?? element.parentElement;
  const range = document.createRange();
  range.setStart(home, 0);
  range.setEndBefore(element.closest('.cites') ?? element);
  const read = range.cloneContents();
  // Other citations are not part of the sentence, and leave no gap.
  for (const other of read.querySelectorAll('.cites')) other.replaceWith(GAP);
  const before = read.textContent
    .split(GAP)
    .map((part) => part.trimEnd())
    .join('')
    .replace(/\s+/g, ' ')
    .trim();
  const sentences = before.match(/(?:[^.!?。！？]|[.!?](?=\S))+[.!?。！？]*/gu) ?? [];
  const last = sentences.at(-1)?.trim() ?? '';
  return last.length > 12 ? last : before.slice(wordStart(before, before.length - 240));
}

/** The language of a text, as far as the browser needs it for glyphs and hyphens. */
function languageOf(start) {
  if (/[\u3040-\u30ff]/.test(start)) return 'ja';
  if (/\p{Script=Hangul}/u.test(start)) return 'ko';
  if (/\p{Script=Han}/u.test(start)) return 'zh';
  if (/\b(der|die|und|nicht|ist|eine)\b/.test(start) && /\b(und|nicht)\b/.test(start)) return 'de';
  return undefined;
}
