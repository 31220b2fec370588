import { line } from '../format.js';
import { html, useCallback } from '../lib/preact.js';
import { Claims, focusNext } from '../report/claims.js';
import { ReportView } from '../report/report-view.js';
import { PlanView } from '../watching/plan-view.js';
import { unmarked, wordStart } from '../words.js';
import { Notes } from './notes.js';
import { PrintNotes } from './print-notes.js';
import { SourceCards } from './source-cards.js';

/** How much of the latest thought is shown before there is a report, in characters. */
const THOUGHT_LENGTH = 300;

/** The report; before there is one, the latest thought and the plan. */
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
    <p class="waiting-thought" dir="auto">${thought?.text ? endOf(thought.text) : 'Starting…'}</p>
    <${PlanView} plan=${state.plan} />
    <p class="quiet">The report appears here as it is written. You can leave this page: the run continues.</p>
    ${state.sources.size > 0 && html`<${SourceCards} state=${state} onOpen=${onSource} limit=${12} />`}
  </div>`;
}

/** The end of a thought, from the start of a word. */
function endOf(text) {
  const plain = unmarked(text.slice(-900));
  const start = wordStart(plain, plain.length - THOUGHT_LENGTH);
  return `${start > 0 ? '… ' : ''}${line(plain.slice(start), THOUGHT_LENGTH)}`;
}

function indented(text) {
  try {
    return JSON.stringify(JSON.parse(text), null, 2);
  } catch {
    return text;
  }
}
