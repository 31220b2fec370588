import { app, ask, forget, go } from '../app.js';
import { exactly, line } from '../format.js';
import { html, useCallback, useEffect, useState } from '../lib/preact.js';
import { Composer } from '../parts/composer.js';
import { Button, ConfirmButton, Failure, Menu, Status, Tabs } from '../parts/controls.js';
import { ReportView } from '../report/report-view.js';
import { Connection } from '../run/connection.js';
import { copy, jsonFile, save } from '../run/exports.js';
import { Log } from '../run/log.js';
import { Meters } from '../run/meters.js';
import { Notes } from '../run/notes.js';
import { Scrubber } from '../run/scrubber.js';
import { SourceCards, SourceDialog } from '../run/source-cards.js';
import { Timeline } from '../run/timeline.js';
import { useQuestion, useRun } from '../run/use-run.js';

/** One run: live, resumed or replayed, always the same log. */
export function Run({ id, asked }) {
  const session = useRun(id);
  const [position, setPosition] = useState(null);
  const [replaying, setReplaying] = useState(false);
  const [tab, setTab] = useState('report');
  const [opened, setOpened] = useState(null);
  const [problem, setProblem] = useState(null);
  const question = useQuestion(app.value.client, id);
  const state = position === null ? session.state : session.stateAt(position);
  const cite = useCallback(({ url }, claim) => setOpened({ url, claim }), []);
  const openSource = useCallback(({ url }) => setOpened({ url }), []);
  const ended = session.state.ended;
  // The page says aloud when a run has ended, once.
  const [said, setSaid] = useState('');
  useEffect(() => {
    if (ended) setSaid(`The run is ${session.state.status}.`);
  }, [ended]);

  if (session.connection === 'gone') return html`<${Gone} session=${session} />`;
  const source = opened && session.state.sources.get(opened.url);
  const closeReplay = () => {
    setReplaying(false);
    setPosition(null);
  };
  return html`<article class="run" data-tab=${tab}>
    <header class="run-head">
      <${Title} state=${state} question=${question} />
      <${Actions}
        session=${session}
        onProblem=${setProblem}
        onReplay=${() => setReplaying(true)}
      />
    </header>
    <p class="sr" role="status">${said}</p>
    <${Connection} session=${session} />
    ${session.connection === 'refused' && html`<${Failure} error=${session.error} />`}
    <${Failure} error=${problem} />
    <${Meters} state=${state} asked=${asked} replaying=${position !== null} />
    ${replaying && html`<${Scrubber} session=${session} position=${position} onPosition=${setPosition} onClose=${closeReplay} />`}
    <div class="run-body">
      <${Tabs}
        label="Views of this run"
        panel="run-panel"
        selected=${tab}
        onSelect=${setTab}
        tabs=${[
          { id: 'report', label: 'Report' },
          { id: 'timeline', label: 'Timeline', count: state.items.length },
          { id: 'sources', label: 'Sources', count: state.sources.size },
          { id: 'log', label: 'Log', count: state.last },
        ]}
      />
      <section class="run-main" id="run-panel" role="tabpanel" aria-labelledby=${`tab-${tab}`}>
        ${tab === 'report' && html`<${Report} state=${state} onCite=${cite} onSource=${openSource} />`}
        ${tab === 'timeline' && html`<div class="timeline-wide"><${Timeline} session=${session} state=${state} /></div>`}
        ${tab === 'sources' && html`<${SourceCards} state=${state} onOpen=${openSource} />`}
        ${tab === 'log' && html`<${Log} session=${session} state=${state} />`}
      </section>
      ${tab !== 'log' && tab !== 'timeline' && html`<aside class="run-side" aria-label="Timeline"><h2>Timeline</h2><${Timeline} session=${session} state=${state} /></aside>`}
    </div>
    ${ended && position === null && html`<${FollowUp} session=${session} />`}
    ${source && html`<${SourceDialog} key=${opened.url + (opened.claim ?? '')} source=${source} claim=${opened.claim} onClose=${() => setOpened(null)} />`}
  </article>`;
}

function Title({ state, question }) {
  const { response } = state;
  const text = question?.text ?? '';
  return html`<div class="run-title">
    <h1 tabindex="-1" dir="auto">${question === undefined ? '…' : line(text, 400) || 'A run without a question'}</h1>
    <p class="run-about">
      <${Status} status=${state.status} />
      ${response && html`<span>${response.model}</span><span>${exactly(response.created_at * 1000)}</span>`}
      ${question?.files > 0 && html`<span>${question.files} attached</span>`}
      ${
        response?.previous_response_id &&
        html`<button type="button" class="link" onClick=${() => go({ name: 'run', id: response.previous_response_id })}>follows another run</button>`
      }
    </p>
  </div>`;
}

function Actions({ session, onProblem, onReplay }) {
  const [copied, setCopied] = useState(false);
  const [stopping, setStopping] = useState(false);
  const { client } = app.value;
  const { id, state } = session;
  const tell = (work) => async () => {
    onProblem(null);
    try {
      await work();
    } catch (error) {
      onProblem(error);
    }
  };
  const stop = tell(async () => {
    setStopping(true);
    try {
      await client.cancel(id);
    } finally {
      setStopping(false);
    }
  });
  const remove = tell(async () => {
    await client.remove(id);
    forget(id);
    go({ name: 'runs' }, { replace: true });
  });
  const report = (format) =>
    tell(async () => {
      const { name, blob } = await client.report(id, format);
      save(name, blob);
    });
  const copyReport = tell(async () => {
    await copy(await (await client.report(id, 'md')).blob.text());
    setCopied(true);
    setTimeout(() => setCopied(false), 2000);
  });
  const json = tell(async () => {
    const { name, blob } = jsonFile(await client.response(id));
    save(name, blob);
  });
  if (!state.ended) {
    return html`<div class="actions"><${Button} kind="stop" icon="stop" disabled=${stopping} onClick=${stop}>${stopping ? 'Stopping…' : 'Stop'}<//></div>`;
  }
  const written = (state.message?.text ?? '').trim() !== '';
  const files = [
    ...(written
      ? [
          { label: 'Markdown', icon: 'save', onPick: report('md') },
          { label: 'HTML, in one file', icon: 'save', onPick: report('html') },
          { label: 'Word', icon: 'save', onPick: report('docx') },
          { label: 'JSON, the report', icon: 'save', onPick: report('json') },
        ]
      : []),
    { label: 'JSON, the whole run', icon: 'save', onPick: json },
    ...(written ? [{ label: 'Print or PDF', icon: 'print', onPick: () => print() }] : []),
  ];
  return html`<div class="actions">
    ${written && html`<${Button} icon=${copied ? 'check' : 'copy'} onClick=${copyReport}>${copied ? 'Copied' : 'Copy'}<//>`}
    <${Menu} label="Download" icon="save" entries=${files} />
    <${Button} icon="replay" onClick=${onReplay}>Replay<//>
    <${ConfirmButton} icon="trash" kind="plain" aria-label="Delete this run" question="Delete?" onConfirm=${remove} />
  </div>`;
}

/** The answer; before there is one, what the research is about at this moment. */
function Report({ state, onCite, onSource }) {
  const { message } = state;
  const text = message?.text ?? '';
  if (text !== '') {
    const structured =
      state.response?.text?.format?.type !== 'text' && state.response?.text?.format?.type !== undefined;
    return html`<div class="report">
      <${Notes} response=${state.response} />
      ${structured ? html`<pre class="structured" tabindex="0">${indented(text)}</pre>` : html`<${ReportView} text=${text} annotations=${message.annotations} charts=${state.response?.charts === true} writing=${!message.done} onCite=${onCite} />`}
      ${state.sources.size > 0 && message.done && html`<section class="report-sources"><h2>Sources</h2><${SourceCards} state=${state} onOpen=${onSource} limit=${24} /></section>`}
    </div>`;
  }
  if (state.ended) return html`<div class="report"><${Notes} response=${state.response} /></div>`;
  const thought = state.items.findLast(({ kind }) => kind === 'thought');
  return html`<div class="report waiting">
    <p class="waiting-thought" dir="auto">${thought?.text ? line(thought.text.slice(-600), 320) : 'The run begins…'}</p>
    <p class="quiet">The report appears here as it is written. You may leave: the run goes on by itself.</p>
    ${state.sources.size > 0 && html`<${SourceCards} state=${state} onOpen=${onSource} limit=${12} />`}
  </div>`;
}

function indented(text) {
  try {
    return JSON.stringify(JSON.parse(text), null, 2);
  } catch {
    return text;
  }
}

function FollowUp({ session }) {
  const { models } = app.value;
  const { status, response } = session.state;
  if (status !== 'completed') {
    return html`<section class="follow-up"><${Again} session=${session} /></section>`;
  }
  const usable = models.filter(({ supported_apis: apis }) => apis.includes('responses'));
  const model = usable.some(({ id }) => id === response.model) ? response.model : usable[0]?.id;
  if (!model) return null;
  return html`<section class="follow-up"><h2>Follow up</h2><${Composer} compact models=${usable} model=${model} previous=${session.id} onSubmit=${ask} /></section>`;
}

function Again() {
  return html`<p class="quiet">A follow-up needs a completed run. <button type="button" class="link" onClick=${() => go({ name: 'ask' })}>Ask again</button></p>`;
}

function Gone({ session }) {
  return html`<section class="ask"><h1 tabindex="-1">This run is not there</h1>
    <p class="lead">It was deleted, its time was over, or it belongs to another key.</p>
    <${Failure} error=${session.error} />
    <p><${Button} onClick=${() => go({ name: 'runs' })}>All runs<//></p>
  </section>`;
}
