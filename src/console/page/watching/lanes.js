import { counted } from '../format.js';
import { html } from '../lib/preact.js';
import { Timeline } from '../run/timeline.js';

/** A column for each lane; above them what belongs to none, such as the plan and the report. */
export function Lanes({ state, timeline }) {
  const of = (lane) => state.items.filter((item) => item !== undefined && item.lane === lane);
  const shared = of(undefined);
  return html`<div class="lanes">
    ${shared.length > 0 && html`<section class="lane" data-shared="true" aria-label="All lanes"><h3>All lanes</h3><${Timeline} state=${state} timeline=${timeline} items=${shared} label="All lanes" /></section>`}
    <div class="lane-columns" role="group" aria-label="Lanes" tabindex="0">
      ${Array.from({ length: state.lanes }, (_, at) => at + 1).map(
        (lane) => html`<${Lane} key=${lane} lane=${lane} items=${of(lane)} state=${state} timeline=${timeline} />`,
      )}
    </div>
  </div>`;
}

function Lane({ lane, items, state, timeline }) {
  const calls = items.filter(({ kind }) => kind === 'call').length;
  const working = !state.ended && items.some(({ done }) => !done);
  return html`<section class="lane" aria-label=${`Lane ${lane}`}>
    <h3>Lane ${lane} <span class="count">${counted(calls, 'call')}</span>${working && html` <span class="pulse" role="img" aria-label="working"></span>`}</h3>
    ${items.length === 0 ? html`<p class="quiet">Nothing yet.</p>` : html`<${Timeline} state=${state} timeline=${timeline} items=${items} label=${`Lane ${lane}`} />`}
  </section>`;
}
