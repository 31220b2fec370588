import { line, number } from '../format.js';
import { html, useRef, useState } from '../lib/preact.js';
import { Choice, Empty } from '../parts/controls.js';
import { VirtualList } from '../parts/virtual-list.js';
import { LongText } from './call-details.js';

const ROW_HEIGHT = 30;

/** The raw events, for people who build a client or tune a model. */
export function Log({ session, state }) {
  const [chosen, setChosen] = useState(null);
  const [type, setType] = useState('');
  const shown = useFilteredEvents(session.events, { last: state.last, type });
  const types = [...state.counts]
    .sort()
    .map(([name, count]) => [name, `${name.replace(/^response\./, '')} (${count})`]);
  const draw = (at) => {
    const event = shown[at];
    return html`<button
      type="button"
      class="log-row"
      aria-pressed=${String(event === chosen)}
      onClick=${() => setChosen((before) => (event === before ? null : event))}
    >
      <span class="log-number">${event.sequence_number}</span>
      <span class="log-type">${event.type.replace(/^response\./, '')}</span>
      <span class="log-text" dir="auto">${aboutOf(event)}</span>
    </button>`;
  };
  return html`<div class="log">
    <div class="log-tools">
      <${Choice} kind=${null} label="Events" value=${type} options=${[['', `all ${number(state.last)}`], ...types]} onChoose=${setType} />
      <span class="quiet">Exactly the bytes that every reader of this run gets.</span>
    </div>
    <div class="log-body" data-chosen=${chosen !== null}>
    ${
      shown.length === 0
        ? html`<${Empty} title="No events" />`
        : html`<${VirtualList} count=${shown.length} draw=${draw} rowAt=${(at) => ({ key: String(shown[at].sequence_number), kind: 'event' })} dependsOn=${(at) => [shown[at], shown[at] === chosen]} key=${type} estimate=${ROW_HEIGHT} label="Events" follow=${!state.ended} />`
    }
    ${chosen && html`<${LongText} key=${chosen.sequence_number} text=${JSON.stringify(chosen, null, 2)} label=${`Event ${chosen.sequence_number}`} />`}
    </div>
  </div>`;
}

/** The events of one type up to number `last`. While a run continues, only new events are filtered. */
function useFilteredEvents(events, { last, type }) {
  const previous = useRef(null);
  const known = previous.current;
  const canExtend = known && known.events === events && known.type === type && known.last <= last;
  const list = canExtend ? known : { events, type, last: 0, filtered: 0, shown: [] };
  while (list.filtered < events.length && events[list.filtered].sequence_number <= last) {
    const event = events[list.filtered];
    if (type === '' || event.type === type) list.shown.push(event);
    list.filtered += 1;
  }
  list.last = last;
  previous.current = list;
  return list.shown;
}

function aboutOf({ type, delta, item, text, annotation, response, part }) {
  if (delta !== undefined) return line(delta, 120);
  if (item) return line([item.type, item.name, item.status].filter(Boolean).join(' · '), 120);
  if (annotation) return line(annotation.url, 120);
  if (response) return response.status;
  return line(text ?? part?.type ?? type, 120);
}
