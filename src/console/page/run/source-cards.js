import { line, openable, placeOf, published } from '../format.js';
import { html, useEffect, useMemo, useRef, useState } from '../lib/preact.js';
import { Button, Empty } from '../parts/controls.js';
import { Icon } from '../parts/icons.js';
import { supportOf } from '../report/support.js';
import { LongText } from './call-details.js';
import { findPassage, passageAround } from './sources.js';

const MARKS = {
  read: { word: 'read', title: 'The run read this source' },
  listed: { word: 'listed', title: 'The run saw this source only in search results' },
  unreadable: { word: 'unreadable', title: 'The run could not read this source' },
  unseen: { word: 'unverified', title: 'The report cites this address, but the run never saw it' },
};

function markOf(source) {
  if (source.cited && source.verified === false) {
    return source.state === 'unreadable' ? MARKS.unreadable : MARKS.unseen;
  }
  return MARKS[source.state] ?? MARKS.listed;
}

/** The name of a source in the page's address: its number in the report, else its own address. */
export function sourceName(source) {
  return source?.cited && Number.isSafeInteger(source.number) ? String(source.number) : source?.url;
}

export function findSource(sources, name) {
  if (!/^\d{1,9}$/.test(name)) return sources.get(name);
  return [...sources.values()].find((source) => sourceName(source) === name);
}

/** Cited sources by their number, then those that were read, then the rest. */
export function sortSources(sources) {
  const rank = ({ cited, number, state }) =>
    cited ? (number ?? 9e6) : state === 'read' ? 1e7 : state === 'listed' ? 2e7 : 3e7;
  return [...sources.values()]
    .map((source, at) => ({ source, at }))
    .sort((a, b) => rank(a.source) - rank(b.source) || a.at - b.at)
    .map(({ source }) => source);
}

/** All sources of the run. They have no pictures or icons, because nothing is loaded from elsewhere. */
export function SourceCards({ state, onOpen, limit = 400 }) {
  const { sources, ended } = state;
  const version = useThrottled(sources.version, { atOnce: ended || sources.size <= FEW });
  return useMemo(() => renderCards({ state, onOpen, limit }), [sources, version, ended, onOpen, limit]);
}

/** Longer lists are sorted and drawn only twice a second while the run continues. */
const FEW = 24;
const PAUSE_MS = 500;

/** A value that changes at most every `PAUSE_MS`, or `atOnce`. */
function useThrottled(value, { atOnce }) {
  const [visible, setVisible] = useState(value);
  const latest = useRef(value);
  const timer = useRef(0);
  latest.current = value;
  useEffect(() => {
    if (value === visible || timer.current !== 0) return;
    timer.current = setTimeout(() => {
      timer.current = 0;
      setVisible(latest.current);
    }, PAUSE_MS);
  });
  useEffect(() => () => clearTimeout(timer.current), []);
  return atOnce ? value : visible;
}

function renderCards({ state, onOpen, limit }) {
  const sources = sortSources(state.sources);
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

/** A source beside the report, at the passage behind a claim. `cited`: the citation that opened it and its claim. */
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
  const passage = words ? passageAround(words, source) : claim && findPassage(claim, source);
  const { word, title } = markOf(source);
  const href = openable(source.url);
  const closeOnBackdrop = (event) => {
    if (event.target === dialog.current) onClose();
  };
  return html`<dialog class="drawer" ref=${dialog} onClose=${onClose} onClick=${closeOnBackdrop} aria-labelledby="source-title">
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
        <h3>${words ? 'The source says' : 'The closest passage'} ${support && html`<span class="mark" data-support=${support.kind}>${support.word}</span>`}</h3>
        <blockquote class="passage" dir="auto">${passage.before}<mark>${passage.quote}</mark>${passage.after}</blockquote>
      </section>`
      }
      ${claim && !passage && html`<p class="quiet">No passage that the run retrieved shares words with this sentence.</p>`}
      ${source.content ? html`<section><h3>What was read</h3><${LongText} text=${source.content} label="Text as the model saw it" prose /></section>` : source.snippet && html`<section><h3>What the search returned</h3><p dir="auto">${source.snippet}</p></section>`}
    </div>
  </dialog>`;
}
