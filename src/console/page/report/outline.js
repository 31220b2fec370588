import { line } from '../format.js';
import { html, useEffect, useState } from '../lib/preact.js';
import { unmarked } from '../words.js';
import { restored } from './markers.js';

/** Headings below this level are not in the outline. */
const MAX_DEPTH = 3;
/** The reader is at the last heading above this line of the window, in pixels. */
const READING_AT = 140;
const HEADINGS = ':scope > :is(h2, h3, h4, h5, h6)';

/** The headings of a report: `{part, depth, text}`; `part` is the index among all its top-level headings. */
export function headingsIn(tokens) {
  const headings = (tokens ?? []).filter(({ type }) => type === 'heading');
  return headings
    .map(({ depth, text }, part) => ({ part, depth, text: line(unmarked(restored(text, [])), 120) }))
    .filter(({ depth, text }) => depth <= MAX_DEPTH && text !== '');
}

/** The report's outline, which follows the reader. `report()` returns the element of the report, or null. */
export function Outline({ headings, report, onPart }) {
  const current = usePart(headings, report);
  const top = Math.min(...headings.map(({ depth }) => depth));
  return html`<nav class="outline" aria-label="Contents">
    <ol>
      ${headings.map(
        ({ part, depth, text }) => html`<li key=${part} data-depth=${depth - top}>
          <a href=${`#part=${part}`} dir="auto" aria-current=${part === current ? 'location' : undefined} onClick=${(
            event,
          ) => {
            event.preventDefault();
            onPart(part);
          }}>${text}</a>
        </li>`,
      )}
    </ol>
  </nav>`;
}

/** Scrolls to a part of the report and focuses its heading. */
export function showPart(report, part) {
  const heading = report?.querySelectorAll(HEADINGS)[part];
  if (!heading) return;
  heading.scrollIntoView({ block: 'start' });
  heading.tabIndex = -1;
  heading.focus({ preventScroll: true });
}

/** The part that the reader is at: the last one whose heading has passed the top of the window. */
function usePart(headings, report) {
  const [current, setCurrent] = useState(headings[0]?.part);
  useEffect(() => {
    let drawing = 0;
    const look = () => {
      drawing = 0;
      const elements = report()?.querySelectorAll(HEADINGS) ?? [];
      const passed = headings.filter(({ part }) => elements[part]?.getBoundingClientRect().top < READING_AT);
      setCurrent((passed.at(-1) ?? headings[0])?.part);
    };
    const scrolled = () => {
      drawing ||= requestAnimationFrame(look);
    };
    look();
    addEventListener('scroll', scrolled, { passive: true });
    return () => {
      cancelAnimationFrame(drawing);
      removeEventListener('scroll', scrolled);
    };
  }, [headings]);
  return current;
}
