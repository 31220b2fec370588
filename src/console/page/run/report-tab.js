import { line } from '../format.js';
import { html, useCallback } from '../lib/preact.js';
import { Claims, focusNext } from '../report/claims.js';
import { ReportView } from '../report/report-view.js';
import { PlanView } from '../watching/plan-view.js';
import { unmarked, wordStart } from '../words.js';
import { Notes } from './notes.js';
import { PrintNotes } from './print-notes.js';
import { SourceCards } from './source-cards.js';

/** Letters of a thought that are shown before there is a report. */
const LATEST = 300;

/** The answer; before there is one, what the research is about at this moment. */
export function ReportTab({ state, report, outline, onCite, onSource, onHeadings }) {
  const { sources } = state;
  const sourceOf = useCallback((url) => sources.get(url), [sources]);
  const { message } = state;
  const text = message?.text ?? '';
  if (text !== '') {
    const structured =
      state.response?.text?.format?.type !== 'text' && state.response?.text?.format?.type !== undefined;
    return html`<div class="report" ref=${report}>
      <${Notes} response=${state.response} />
      <${Claims} claims=${state.response?.claims} onNext=${(kind, after) => focusNext(report.current, { kind, after })} />
      ${outline}
      ${structured ? html`<pre class="structured" tabindex="0">${indented(text)}</pre>` : html`<${ReportView} text=${text} annotations=${message.annotations} charts=${state.response?.charts === true} writing=${!message.done} onCite=${onCite} sourceOf=${sourceOf} onHeadings=${onHeadings} />`}
      ${state.sources.size > 0 && message.done && html`<section class="report-sources"><h2>Sources</h2><${SourceCards} state=${state} onOpen=${onSource} limit=${24} /><${PrintNotes} state=${state} /></section>`}
    </div>`;
  }
  if (state.ended) return html`<div class="report"><${Notes} response=${state.response} /></div>`;
  const thought = state.items.findLast(({ kind }) => kind === 'thought');
  return html`<div class="report waiting">
    <p class="waiting-thought" dir="auto">${thought?.text ? latest(thought.text) : 'The run begins…'}</p>
    <${PlanView} plan=${state.plan} />
    <p class="quiet">The report appears here as it is written. You may leave: the run goes on by itself.</p>
    ${state.sources.size > 0 && html`<${SourceCards} state=${state} onOpen=${onSource} limit=${12} />`}
  </div>`;
}

/** The end of a thought, from a word on. */
function latest(text) {
  const plain = unmarked(text.slice(-900));
  const start = wordStart(plain, plain.length - LATEST);
  return `${start > 0 ? '… ' : ''}${line(plain.slice(start), LATEST)}`;
}

function indented(text) {
  try {
    return JSON.stringify(JSON.parse(text), null, 2);
  } catch {
    return text;
  }
}
