import { app, move } from '../app.js';
import { counted, line, number, placeOf } from '../format.js';
import { html, useCallback, useMemo, useState } from '../lib/preact.js';
import { Failure, Status, Tabs } from '../parts/controls.js';
import { Link } from '../parts/link.js';
import { useTitle } from '../parts/title.js';
import { ReportView } from '../report/report-view.js';
import { Connection } from '../run/connection.js';
import { Meters } from '../run/meters.js';
import { Notes } from '../run/notes.js';
import { useQuestion } from '../run/questions.js';
import { statusOf } from '../run/reasons.js';
import { SourceDialog, sortSources } from '../run/source-cards.js';
import { Timeline } from '../run/timeline.js';
import { useRun } from '../run/use-run.js';
import { useTimeline } from '../watching/use-timeline.js';

const TABS = [
  { id: 'report', label: 'Reports' },
  { id: 'sources', label: 'Sources' },
  { id: 'events', label: 'Events' },
  { id: 'timeline', label: 'Timelines' },
];

/** Two runs side by side, for people who tune a model. */
export function Compare({ left: leftId, right: rightId, place = {} }) {
  useTitle('Compare');
  const left = useRun(leftId);
  const right = useRun(rightId);
  const tab = TABS.some(({ id }) => id === place.tab) ? place.tab : 'report';
  return html`<section class="compare">
    <header class="list-head"><h1 tabindex="-1">Compare</h1><${Link} class="button" to=${{ name: 'runs' }}>All runs<//></header>
    <${Tabs} label="What to compare" panel="compare-panel" selected=${tab} onSelect=${(next) => move({ tab: next })} tabs=${TABS} />
    <div class="compare-sides" id="compare-panel" role="tabpanel" aria-labelledby=${`tab-${tab}`}>
      <${Side} key=${left.id} session=${left} other=${right} tab=${tab} />
      <${Side} key=${right.id} session=${right} other=${left} tab=${tab} />
    </div>
  </section>`;
}

function Side({ session, other, tab }) {
  const { state } = session;
  const question = useQuestion(app.value.client, session.id);
  const message = state.message;
  const [opened, setOpened] = useState(null);
  const cite = useCallback((annotation, claim) => setOpened({ annotation, claim }), []);
  const { timeline } = useTimeline(session, tab === 'timeline');
  const { sources } = state;
  const sourceOf = useCallback((url) => sources.get(url), [sources]);
  const source = opened && sourceOf(opened.annotation.url);
  if (session.connection === 'gone' || session.connection === 'refused')
    return html`<section class="compare-side"><h2>${session.id}</h2><${Failure} error=${session.error} /></section>`;
  return html`<section class="compare-side">
    <h2 dir="auto"><${Link} class="link" to=${{ name: 'run', id: session.id }}>${line(question?.text ?? '…', 140)}<//></h2>
    <p class="run-about"><${Status} ...${statusOf(state.response ?? state)} /><span>${state.response?.model}</span></p>
    <${Connection} session=${session} />
    <${Meters} state=${state} />
    ${tab === 'report' && html`<div class="report"><${Notes} response=${state.response} />${message ? html`<${ReportView} text=${message.text} annotations=${message.annotations} charts=${state.response?.charts === true} writing=${!message.done} onCite=${cite} sourceOf=${sourceOf} />` : html`<p class="quiet">No report yet.</p>`}</div>`}
    ${tab === 'sources' && html`<${SourceOverlap} state=${state} other=${other.state} />`}
    ${tab === 'events' && html`<${EventCounts} state=${state} other=${other.state} />`}
    ${tab === 'timeline' && html`<div class="timeline-wide"><${Timeline} state=${state} timeline=${timeline} /></div>`}
    ${source && html`<${SourceDialog} source=${source} cited=${opened} onClose=${() => setOpened(null)} />`}
  </section>`;
}

function SourceOverlap({ state, other }) {
  const { sources } = state;
  const theirs = other.sources;
  const draw = () => {
    const both = [...sources.keys()].filter((url) => theirs.has(url)).length;
    return html`<p class="quiet">${counted(sources.size, 'source')}, ${number(both)} of them in both runs.</p>
      <ul class="plain">
        ${sortSources(sources).map(
          (source) => html`<li key=${source.url} data-both=${theirs.has(source.url)}>
            <span dir="auto">${line(source.title || placeOf(source.url), 100)}</span>
            <span class="mark" data-mark=${source.state === 'read' ? 'read' : 'listed'}>${source.state}</span>
            ${!theirs.has(source.url) && html`<span class="mark">only in this run</span>`}
          </li>`,
        )}
      </ul>`;
  };
  return useMemo(draw, [sources, sources.version, theirs, theirs.version]);
}

function EventCounts({ state, other }) {
  const types = [...new Set([...state.counts.keys(), ...other.counts.keys()])].sort();
  return html`<table class="counts">
    <thead><tr><th scope="col">Event</th><th scope="col">This run</th><th scope="col">Difference</th></tr></thead>
    <tbody>
      ${types.map((type) => {
        const here = state.counts.get(type) ?? 0;
        const difference = here - (other.counts.get(type) ?? 0);
        return html`<tr key=${type}><th scope="row">${type.replace(/^response\./, '')}</th><td>${number(here)}</td><td>${difference > 0 ? '+' : ''}${difference === 0 ? '' : number(difference)}</td></tr>`;
      })}
      <tr class="total"><th scope="row">All</th><td>${number(state.last)}</td><td></td></tr>
    </tbody>
  </table>`;
}
