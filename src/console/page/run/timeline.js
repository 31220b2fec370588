import { asText, duration, line, placeOf } from '../format.js';
import { html, useState } from '../lib/preact.js';
import { Icon } from '../parts/icons.js';
import { VirtualList } from '../parts/virtual-list.js';
import { MarkdownText } from '../report/markdown-text.js';
import { tookMs } from '../watching/clock.js';
import { planOf, progressOf, UPDATE_PLAN } from '../watching/plan-state.js';
import { unmarked } from '../words.js';
import { CallDetails } from './call-details.js';
import { parseJson } from './sources.js';

/** Thoughts and tool calls in the order of the log. `timeline`: their times; `items`: only these, such as those of a lane. */
export function Timeline({ state, timeline, items: given, label = 'Timeline' }) {
  const [open, setOpen] = useState(() => new Set());
  const items = given ?? state.items.filter((item) => item !== undefined);
  // If the model writes no plan, its first thought serves as one.
  const plan = state.plan || given ? undefined : items.find(({ kind }) => kind === 'thought');
  const toggle = (index) =>
    setOpen((before) => {
      const next = new Set(before);
      if (!next.delete(index)) next.add(index);
      return next;
    });
  // The plan is open until the reader closes it; others are closed until opened.
  const isShown = (item) => (item === plan) !== open.has(item.index);
  const draw = (at) => {
    const item = items[at];
    return html`<${Entry}
      item=${item}
      plan=${item === plan}
      running=${!state.ended}
      took=${tookMs(item, timeline)}
      open=${isShown(item)}
      inLane=${given !== undefined}
      onToggle=${() => toggle(item.index)}
    />`;
  };
  if (items.length === 0) {
    return html`<p class="quiet">${state.ended ? 'This run has no steps.' : 'Starting…'}</p>`;
  }
  return html`<${VirtualList}
    count=${items.length}
    draw=${draw}
    rowAt=${(at) => ({ key: String(items[at].index), kind: isShown(items[at]) ? 'open' : items[at].kind })}
    dependsOn=${(at) => [items[at], items[at] === plan, isShown(items[at]), state.ended, tookMs(items[at], timeline)]}
    estimate=${46}
    label=${label}
    follow=${!state.ended}
  />`;
}

/** How an item is shown that did not end well. */
const BAD_ENDS = new Map([
  ['failed', 'failed'],
  ['incomplete', 'cut'],
]);

function Entry({ item, plan, running, took, open, inLane, onToggle }) {
  const { icon, name, about } = headingOf(item, plan);
  const working = running && !item.done;
  const state = working ? 'working' : (BAD_ENDS.get(item.status) ?? 'done');
  const details = `details-${item.index}`;
  return html`<div class="entry" data-kind=${item.kind} data-state=${state}>
    <button type="button" class="entry-head" aria-expanded=${String(open)} aria-controls=${open ? details : undefined} onClick=${onToggle}>
      <span class="entry-mark"><${Icon} name=${state === 'failed' ? 'cross' : icon} /></span>
      <span class="entry-title">
        <span class="entry-name">${name}</span>${item.lane !== undefined && !inLane && html`<span class="mark">lane ${item.lane}</span> `}
        ${!open && about && html`<span class="entry-about" dir="auto">${about}</span>`}
      </span>
      <span class="entry-side">
        ${state === 'failed' && html`<span class="bad">failed</span>`}
        ${state === 'cut' && html`<span class="bad">interrupted</span>`}${' '}
        ${working ? html`<span class="pulse" role="img" aria-label="working"></span>` : took !== undefined && html`<span>${duration(took)}</span>`}
      </span>
    </button>
    ${open && html`<div class="entry-body" id=${details}><${Details} item=${item} /></div>`}
  </div>`;
}

function Details({ item }) {
  if (item.kind === 'call' || item.kind === 'tools') return html`<${CallDetails} item=${item} />`;
  if (item.kind === 'answer') return html`<p class="quiet">${item.text.length} characters, shown as the report.</p>`;
  if (item.text === '') return html`<p class="quiet">…</p>`;
  return html`<${MarkdownText} class="thought-text" text=${item.text} writing=${!item.done} />`;
}

/** The heading of a closed row: `{icon, name, about}`. */
export function headingOf(item, plan) {
  if (item.kind === 'thought') {
    return { icon: 'thought', name: plan ? 'Plan' : 'Thought', about: line(unmarked(item.text.slice(0, 900)), 220) };
  }
  if (item.kind === 'answer') return { icon: 'pen', name: 'Report', about: '' };
  if (item.kind === 'tools') return { icon: 'plug', name: 'Tools', about: `of ${line(item.name, 80)}` };
  const args = parseJson(item.arguments) ?? {};
  const result = parseJson(item.result);
  switch (item.name) {
    case UPDATE_PLAN: {
      const steps = planOf(args);
      return { icon: 'runs', name: 'Plan', about: steps ? progressOf(steps) : '' };
    }
    case 'web_search': {
      const queries = [args.queries ?? args.query ?? []].flat().map(asText);
      const results = result?.results ?? args.sources;
      const found = Array.isArray(results) ? ` (${results.length} found)` : '';
      return { icon: 'search', name: 'Search', about: line(queries.join(' · '), 200) + found };
    }
    case 'fetch_url_content': {
      const title = typeof result?.title === 'string' ? result.title : '';
      return { icon: 'read', name: 'Read', about: line(title || placeOf(asText(args.url)), 160) };
    }
    case 'execute_python':
    case 'code_interpreter':
      return { icon: 'code', name: 'Python', about: line(asText(args.code), 120) };
    default: {
      const about = line(item.arguments ?? '', 140);
      return { icon: 'plug', name: line(item.name, 60), about: about === '{}' ? '' : about };
    }
  }
}
