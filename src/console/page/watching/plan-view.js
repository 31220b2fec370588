import { html } from '../lib/preact.js';
import { Icon } from '../parts/icons.js';
import { progressOf } from './plan-state.js';

const WORDS = { open: 'open', doing: 'in progress', done: 'done', dropped: 'dropped' };
const ICONS = { open: 'open', doing: 'doing', done: 'check', dropped: 'cross' };

/** The plan of a run and its progress. `open`: whether it is open at first. */
export function PlanView({ plan, open = true }) {
  if (!plan) return null;
  return html`<details class="plan-view" open=${open}>
    <summary><span class="plan-name">Plan</span> <span class="count">${progressOf(plan)}</span></summary>
    <${PlanItems} plan=${plan} />
  </details>`;
}

export function PlanItems({ plan }) {
  return html`<ol class="plan-items">
    ${plan.map(
      ({ text, status, finding }, at) => html`<li key=${at} data-status=${status}>
        <span class="plan-mark" role="img" aria-label=${WORDS[status]}><${Icon} name=${ICONS[status]} /></span>
        <div><p dir="auto">${text}</p>${finding && html`<p class="plan-finding" dir="auto">${finding}</p>`}</div>
      </li>`,
    )}
  </ol>`;
}
