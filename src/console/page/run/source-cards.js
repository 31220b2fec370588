import { line, openable, placeOf, published } from '../format.js';
import { html, useEffect, useMemo, useRef, useState } from '../lib/preact.js';
import { Button, Empty } from '../parts/controls.js';
import { Icon } from '../parts/icons.js';
import { supportOf } from '../report/support.js';
import { LongText } from './call-details.js';
import { passageFor, passageOf } from './sources.js';

const MARKS = {
  read: { word: 'read', title: 'The run read this source' },
  listed: { word: 'listed', title: 'The run saw this source in a search result only' },
  unreadable: { word: 'unreadable', title: 'The run tried to read this source and could not' },
  unseen: { word: 'unsupported', title: 'The report cites this address, but the run never saw it' },
};

function markOf(source) {
  if (source.cited && source.verified === false) {
    return source.state === 'unreadable' ? MARKS.unreadable : MARKS.unseen;
  }
  return MARKS[source.state] ?? MARKS.listed;
}

/** What a source is called in an address: its number in the report, else its own address. */
export function nameOf(source) {
  return source?.cited && Number.isSafeInteger(source.number) ? String(source.number) : source?.url;
}

export function sourceNamed(sources, name) {
  if (!/^\d{1,9}$/.test(name)) return sources.get(name);
  return [...sources.values()].find((source) => nameOf(source) === name);
}

/** Cited sources by their number, then those that were read, then the rest. */
export function sorted(sources) {
  const rank = ({ cited, number, state }) =>
    cited ? (number ?? 9e6) : state === 'read' ? 1e7 : state === 'listed' ? 2e7 : 3e7;
  return [...sources.values()]
    .map((source, at) => ({ source, at }))
    .sort((a, b) => rank(a.source) - rank(b.source) || a.at - b.at)
    .map(({ source }) => source);
}

/** All that the run met. No pictures and no icons: nothing is loaded from elsewhere. */
export function SourceCards({ state, onOpen, limit = 400 }) {
  const { sources, ended } = state;
  const version = useCalm(sources.version, { atOnce: ended || sources.size <= FEW });
  return useMemo(() => cards({ state, onOpen, limit }), [sources, version, ended, onOpen, limit]);
}

/** Longer lists are drawn twice a second while the run goes on: nobody reads faster, and all of it is sorted anew. */
const FEW = 24;
const PAUSE_MS = 500;

/** A value as it was up to `PAUSE_MS` ago, or as it is. */
function useCalm(value, { atOnce }) {
  const [shown, setShown] = useState(value);
  const latest = useRef(value);
  const timer = useRef(0);
  latest.current = value;
  useEffect(() => {
    if (value === shown || timer.current !== 0) return;
    timer.current = setTimeout(() => {
      timer.current = 0;
      setShown(latest.current);
    }, PAUSE_MS);
  });
  useEffect(() => () => clearTimeout(timer.current), []);
  return atOnce ? value : shown;
}

function cards({ state, onOpen, limit }) {
  const sources = sorted(state.sources);
  if (sources.length === 0) {
    return html`<${Empty} title=${state.ended ? 'No sources' : 'No sources yet'}>
      ${state.ended ? 'This run retrieved nothing.' : 'What the run finds and reads appears here.'}
    <//>`;
  }
  return html`<ul class="cards">
      ${sources.slice(0, limit).map((source) => html`<${Card} key=${source.url} source=${source} onOpen=${onOpen} />`)}
    </ul>
    ${sources.length > limit && html`<p class="quiet">${sources.length - limit} more are in the log.</p>`}`;
}

function Card({ source, onOpen }) {
  const { word, title } = markOf(source);
  const draw = () => html`<li class="card" data-mark=${word} data-cited=${source.cited}>
    <button type="button" class="card-button" onClick=${() => onOpen(source)}>
      <span class="card-title" dir="auto"
        >${source.cited && Number.isSafeInteger(source.number) && html`<span class="card-number">${source.number}</span>`}${line(source.title || placeOf(source.url), 120)}</span
      >
      <span class="card-place">${placeOf(source.url)}</span>
      <span class="mark" data-mark=${word} title=${title}>${word}</span>
    </button>
  </li>`;
  return useMemo(draw, [source, onOpen]);
}

/** A source beside the report, at the passage that a claim rests on. `cited`: the citation that opened it and its claim. */
export function SourceDialog({ source, cited = null, onClose }) {
  const dialog = useRef(null);
  useEffect(() => {
    const element = dialog.current;
    if (!element.open) element.showModal();
    element.querySelector('mark')?.scrollIntoView({ block: 'nearest' });
    return () => element.close();
  }, []);
  const { annotation, claim } = cited ?? {};
  const words = annotation?.cited_text;
  const support = annotation && supportOf(annotation, source);
  const passage = words ? passageOf(words, source) : claim && passageFor(claim, source);
  const { word, title } = markOf(source);
  const href = openable(source.url);
  const away = (event) => {
    if (event.target === dialog.current) onClose();
  };
  return html`<dialog class="drawer" ref=${dialog} onClose=${onClose} onClick=${away} aria-labelledby="source-title">
    <div class="drawer-inside">
      <header>
        <h2 id="source-title" dir="auto">${source.title || placeOf(source.url)}</h2>
        <${Button} icon="cross" kind="bare" aria-label="Close" onClick=${onClose} />
      </header>
      <p class="drawer-place">
        <span class="mark" data-mark=${word}>${word}</span>
        ${source.published && html`<span dir="auto">${published(source.published)}</span>`}
        ${href ? html`<a href=${href} target="_blank" rel="noreferrer noopener nofollow">${placeOf(source.url)} <${Icon} name="link" /></a>` : html`<span class="url">${source.url}</span>`}
      </p>
      ${word !== 'read' && html`<p class="quiet">${title}.</p>`}
      ${claim && html`<section><h3>The report says</h3><p class="claim" dir="auto">${claim}</p></section>`}
      ${
        passage &&
        html`<section>
        <h3>${words ? 'The source says' : 'The nearest passage'} ${support && html`<span class="mark" data-support=${support.kind}>${support.word}</span>`}</h3>
        <blockquote class="passage" dir="auto">${passage.before}<mark>${passage.quote}</mark>${passage.after}</blockquote>
      </section>`
      }
      ${claim && !passage && html`<p class="quiet">No passage of what the run retrieved shares words with this sentence.</p>`}
      ${source.content ? html`<section><h3>What was read</h3><${LongText} text=${source.content} label="Text as the model got it" prose /></section>` : source.snippet && html`<section><h3>What the search showed</h3><p dir="auto">${source.snippet}</p></section>`}
    </div>
  </dialog>`;
}
