import { createContext, html, useCallback, useContext, useEffect, useMemo, useRef, useState } from '../lib/preact.js';
import { numberOf } from '../run/fold.js';
import { MarkdownReader } from './lexer.js';
import { groups } from './markdown.js';
import { withPlaceholders } from './markers.js';

/** Letters of a report that tell its language. */
const LANGUAGE_SEEN = 2000;

/** What happens when a citation is opened: `(annotation, claim)`. */
const OnCite = createContext(() => {});

/** The report as it is written: Markdown with citations that open. `charts`: blocks of them are drawn. */
export function ReportView({ text, annotations, charts = false, writing, onCite }) {
  const read = useMarkdown({ text, annotations, writing });
  const start = text.slice(0, LANGUAGE_SEEN);
  const language = useMemo(() => languageOf(start), [start]);
  const open = useCallback((annotation, element) => onCite(annotation, claimAround(element)), [onCite]);
  const { tokens, markers, plain } = read;
  const context = useMemo(() => ({ markers, Cite, charts }), [markers, charts]);
  return html`<${OnCite.Provider} value=${open}>
    <div class="prose" data-writing=${writing} lang=${language}>
      ${tokens ? groups(tokens, context) : html`<p class="as-is">${plain}</p>`}
    </div>
  <//>`;
}

/** Tokens of the newest text that was read so far. */
function useMarkdown({ text, annotations, writing }) {
  const [read, setRead] = useState({ tokens: [], markers: [], plain: '' });
  const reader = useRef(null);
  const markers = useRef([]);
  useEffect(() => {
    let drawing;
    const own = new MarkdownReader(({ original, markers }, tokens) => {
      // With what else changes in a frame: in between it would make the browser lay the page out twice.
      cancelAnimationFrame(drawing);
      drawing = requestAnimationFrame(() => setRead({ tokens, markers, plain: tokens ? '' : original }));
    });
    reader.current = own;
    return () => {
      cancelAnimationFrame(drawing);
      own.stop();
    };
  }, []);
  useEffect(() => {
    const found = withPlaceholders(text, annotations, markers.current);
    markers.current = found.markers;
    reader.current.read({ ...found, original: text, whole: !writing });
  }, [text, annotations, writing]);
  return read;
}

function Cite({ marker }) {
  const open = useContext(OnCite);
  return html`<span class="cites">${marker.annotations.map((annotation) => {
    const number = numberOf(annotation);
    const doubt = annotation.verified === false;
    const name = `Source ${number}: ${annotation.title || annotation.url}${doubt ? ' (not read by this run)' : ''}`;
    return html`<button
      type="button"
      class="cite"
      data-unverified=${doubt}
      aria-label=${name}
      title=${annotation.title || annotation.url}
      onClick=${(event) => open(annotation, event.currentTarget)}
    >
      ${number}
    </button>`;
  })}</span>`;
}

/** The sentence that a citation stands after. */
function claimAround(element) {
  const home = element.closest('p, li, td, th, blockquote, h2, h3, h4, h5, h6') ?? element.parentElement;
  const range = document.createRange();
  range.setStart(home, 0);
  range.setEndBefore(element.closest('.cites') ?? element);
  const before = range.toString().replace(/\s+/g, ' ').trim();
  const sentences = before.match(/[^.!?。！？]+[.!?。！？]*/gu) ?? [];
  const last = sentences.at(-1)?.trim() ?? '';
  return last.length > 12 ? last : before.slice(-240);
}

/** Enough for the browser to choose the right glyphs and hyphens. */
function languageOf(start) {
  if (/[\u3040-\u30ff]/.test(start)) return 'ja';
  if (/\p{Script=Hangul}/u.test(start)) return 'ko';
  if (/\p{Script=Han}/u.test(start)) return 'zh';
  if (/\b(der|die|und|nicht|ist|eine)\b/.test(start) && /\b(und|nicht)\b/.test(start)) return 'de';
  return undefined;
}
