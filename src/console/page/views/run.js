import { app, move } from '../app.js';
import { exactly, line } from '../format.js';
import { html, useCallback, useEffect, useRef, useState } from '../lib/preact.js';
import { Failure, Status, Tabs } from '../parts/controls.js';
import { Link } from '../parts/link.js';
import { useAttempt } from '../parts/request-hooks.js';
import { useTitle } from '../parts/title.js';
import { Outline, showPart } from '../report/outline.js';
import { Actions } from '../run/actions.js';
import { Connection } from '../run/connection.js';
import { Deliveries, useDeliveries } from '../run/deliveries.js';
import { FollowUp } from '../run/follow-up.js';
import { Log } from '../run/log.js';
import { Meters } from '../run/meters.js';
import { useQuestion } from '../run/questions.js';
import { statusOf } from '../run/reasons.js';
import { ReportTab } from '../run/report-tab.js';
import { findSource, SourceCards, SourceDialog, sourceName } from '../run/source-cards.js';
import { Timeline } from '../run/timeline.js';
import { useRun } from '../run/use-run.js';
import { Lanes } from '../watching/lanes.js';
import { PlanView } from '../watching/plan-view.js';
import { Scrubber } from '../watching/scrubber.js';
import { useTimeline } from '../watching/use-timeline.js';
import { Waterfall } from '../watching/waterfall-view.js';

/** How many characters of a long question are shown at first. */
const QUESTION_LENGTH = 180;
/** A question of more characters is set in smaller type. */
const LONG_QUESTION = 90;

const TABS = ['report', 'timeline', 'waterfall', 'sources', 'log', 'deliveries'];
/** Tabs that take the whole width, without the timeline beside them. */
const FULL_WIDTH = ['timeline', 'waterfall', 'log'];

/** One run: live, resumed or replayed, always drawn from its log. */
export function Run({ id, asked, place = {} }) {
  const session = useRun(id);
  const [position, setPosition] = useState(null);
  const [replaying, setReplaying] = useState(false);
  const tab = TABS.includes(place.tab) ? place.tab : 'report';
  const [headings, setHeadings] = useState([]);
  const report = useRef(null);
  const { attempt, busy, error: problem } = useAttempt();
  const question = useQuestion(app.value.client, id);
  const state = position === null ? session.state : session.stateAt(position);
  useTitle(question?.text ?? 'Run');
  const { cited, open, openSource } = useCited(session);
  const prose = useCallback(() => report.current?.querySelector('.prose') ?? null, []);
  // An address may name a part of the report, which exists once the report is drawn.
  useEffect(() => {
    if (headings.length > 0 && place.part) requestAnimationFrame(() => showPart(prose(), Number(place.part)));
  }, [headings.length > 0]);
  const ended = session.state.ended;
  const times = useTimeline(session, session.state.last > 0);
  const deliveries = useDeliveries(id, { ended });
  const announcement = useAnnouncement(session);

  if (session.connection === 'gone') return html`<${Gone} session=${session} />`;
  const source = place.source && findSource(session.state.sources, place.source);
  const closeReplay = () => {
    setReplaying(false);
    setPosition(null);
  };
  const isWritten = (state.message?.text ?? '') !== '';
  // The plan is shown instead of the report until the report begins.
  const isWaiting = !isWritten && !state.ended;
  const outline =
    isWritten &&
    headings.length > 1 &&
    html`<${Outline} headings=${headings} report=${prose} onPart=${(part) => {
      move({ part });
      showPart(prose(), part);
    }} />`;
  return html`<article class="run" data-tab=${tab} data-whole=${FULL_WIDTH.includes(tab)}>
    <header class="run-head">
      <${Title} state=${state} question=${question} />
      <${Actions} session=${session} attempt=${attempt} busy=${busy} onReplay=${() => setReplaying(true)} />
    </header>
    <p class="sr" role="status">${announcement}</p>
    <${Connection} session=${session} />
    ${session.connection === 'refused' && html`<${Failure} error=${session.error} />`}
    <${Failure} error=${problem} />
    <${Meters} state=${state} asked=${asked} replaying=${position !== null} timeline=${times.timeline} />
    ${replaying && html`<${Scrubber} session=${session} ...${times} position=${position} onPosition=${setPosition} onClose=${closeReplay} />`}
    <div class="run-body">
      <${Tabs}
        label="Views of this run"
        panel="run-panel"
        selected=${tab}
        onSelect=${(next) => move({ tab: next === 'report' ? undefined : next })}
        tabs=${tabsOf(state, deliveries)}
      />
      <section class="run-main" id="run-panel" role="tabpanel" aria-labelledby=${`tab-${tab}`}>
        ${tab === 'report' && html`<${ReportTab} state=${state} report=${report} outline=${outline && html`<details class="contents"><summary>Contents</summary>${outline}</details>`} onCite=${open} onSource=${openSource} onHeadings=${setHeadings} />`}
        ${tab === 'timeline' && html`<div class="timeline-wide"><${PlanView} plan=${state.plan} open=${!ended} />${state.lanes > 1 ? html`<${Lanes} state=${state} timeline=${times.timeline} />` : html`<${Timeline} state=${state} timeline=${times.timeline} />`}</div>`}
        ${tab === 'waterfall' && html`<${Waterfall} state=${state} ...${times} />`}
        ${tab === 'sources' && html`<${SourceCards} state=${state} onOpen=${openSource} />`}
        ${tab === 'deliveries' && html`<${Deliveries} ...${deliveries} />`}
        ${tab === 'log' && html`<${Log} session=${session} state=${state} />`}
      </section>
      ${!FULL_WIDTH.includes(tab) && html`<aside class="run-side" aria-label="Timeline">${tab === 'report' && outline && html`<h2>Contents</h2>${outline}`}${!(tab === 'report' && isWaiting) && html`<${PlanView} plan=${state.plan} open=${!ended} />`}<h2>Timeline</h2><${Timeline} state=${state} timeline=${times.timeline} /></aside>`}
    </div>
    ${ended && position === null && html`<${FollowUp} session=${session} asked=${asked} />`}
    ${source && html`<${SourceDialog} key=${source.url + (cited?.claim ?? '')} source=${source} cited=${cited} onClose=${() => move({ source: undefined })} />`}
  </article>`;
}

/** The open citation, and functions that open a citation or a source. */
function useCited(session) {
  const [cited, setCited] = useState(null);
  const open = useCallback(
    (annotation, claim) => {
      setCited({ annotation, claim });
      move({ source: sourceName(session.state.sources.get(annotation.url)) });
    },
    [session],
  );
  const openSource = useCallback((source) => {
    setCited(null);
    move({ source: sourceName(source) });
  }, []);
  return { cited, open, openSource };
}

/** The end of a run, announced once to screen readers. */
function useAnnouncement({ state: { ended, response } }) {
  const [announcement, announce] = useState('');
  useEffect(() => {
    if (ended) announce(`The run is ${statusOf(response).status}.`);
  }, [ended]);
  return announcement;
}

function tabsOf(state, { deliveries }) {
  return [
    { id: 'report', label: 'Report' },
    { id: 'timeline', label: 'Timeline', count: state.items.length },
    { id: 'waterfall', label: 'Waterfall' },
    { id: 'sources', label: 'Sources', count: state.sources.size },
    { id: 'log', label: 'Log', count: state.last },
    ...(deliveries.length > 0 ? [{ id: 'deliveries', label: 'Deliveries', count: deliveries.length }] : []),
  ];
}

function Title({ state, question }) {
  const { response } = state;
  const text = question?.text ?? '';
  const [whole, setWhole] = useState(false);
  const long = line(text, QUESTION_LENGTH + 1).length > QUESTION_LENGTH;
  const visible = whole ? text : line(text, QUESTION_LENGTH);
  return html`<div class="run-title">
    <h1 tabindex="-1" dir="auto" data-long=${visible.length > LONG_QUESTION}>${question === undefined ? '…' : visible || 'A run without a question'}</h1>
    ${long && html`<button type="button" class="link" aria-expanded=${String(whole)} onClick=${() => setWhole(!whole)}>${whole ? 'Show less' : 'Show the whole question'}</button>`}
    <p class="run-about">
      <${Status} ...${statusOf(response ?? state)} />
      ${response && html`<span>${response.model}</span><span>${exactly(response.created_at * 1000)}</span>`}
      ${question?.files > 0 && html`<span>${question.files} attached</span>`}
      ${
        response?.previous_response_id &&
        html`<${Link} class="link" to=${{ name: 'run', id: response.previous_response_id }}>follow-up to an earlier run<//>`
      }
    </p>
  </div>`;
}

function Gone({ session }) {
  return html`<section class="ask"><h1 tabindex="-1">This run does not exist</h1>
    <p class="lead">It was deleted, it has expired, or it belongs to another user.</p>
    <${Failure} error=${session.error} />
    <p><${Link} class="button" to=${{ name: 'runs' }}>All runs<//></p>
  </section>`;
}
