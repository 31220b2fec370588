import { app } from '../app.js';
import { compact, duration, money, number } from '../format.js';
import { html, useMemo, useRef, useState } from '../lib/preact.js';
import { Button, Empty, Failure } from '../parts/controls.js';
import { VirtualList } from '../parts/virtual-list.js';
import { useSeconds } from '../run/meters.js';
import { headingOf } from '../run/timeline.js';
import { useStore } from '../store.js';
import { TurnPrompt } from './turn-prompt.js';
import { rowsOf, sharesOf } from './waterfall.js';

const TICKS = 4;
/** Kinds of turns whose prompts the gateway can show. */
const WITH_PROMPT = new Set(['research', 'answer']);

/** Turns and calls against time: what took long, waited or ran in parallel, and what it cost. */
export function Waterfall({ state, timeline, error }) {
  const running = !state.ended;
  const now = useSeconds(running);
  const rows = useMemo(
    () => rowsOf({ items: state.items, timeline, now: Math.max(0, now - (timeline?.created_ms ?? now)) }),
    [timeline, state.items.length, state.last, running && now],
  );
  const list = useListKey(rows);
  const isAdmin = useStore(app, (value) => value.admin);
  const [prompt, setPrompt] = useState(null);
  if (error && !timeline) return html`<${Failure} error=${error} />`;
  if (!timeline) return html`<p class="quiet" role="status">Loading the times of this run…</p>`;
  if (!rows) {
    return running
      ? html`<p class="quiet">The first turn is in progress; its times appear when it ends.</p>`
      : html`<${Empty} title="No times">This run was stored before the gateway recorded times. The timeline shows its order.<//>`;
  }
  const end = rows.reduce((last, row) => Math.max(last, row.end), 1);
  const { currency } = timeline;
  const nameOf = (at) => (rows[at].name === 'Turn' ? `Turn ${turnNumber(rows, at)}` : rows[at].name);
  const promptOpener = (at) =>
    isAdmin && WITH_PROMPT.has(rows[at].turn?.kind) && (() => setPrompt({ turn: rows[at].number, name: nameOf(at) }));
  const draw = (at) =>
    html`<${Line} row=${rows[at]} end=${end} currency=${currency} name=${nameOf(at)} onPrompt=${promptOpener(at)} isAsked=${prompt !== null && prompt.turn === rows[at].number} />`;
  return html`<div class="waterfall">
    <${Shares} rows=${rows} end=${end} />
    ${prompt && html`<${TurnPrompt} key=${prompt.turn} id=${timeline.id} ...${prompt} onClose=${() => setPrompt(null)} />`}
    <div class="fall-axis" aria-hidden="true"><span></span><span class="fall-ticks">${Array.from({ length: TICKS + 1 }, (_, at) => html`<span key=${at}>${at === 0 ? '0' : duration((end * at) / TICKS)}</span>`)}</span><span></span></div>
    <${VirtualList}
      key=${list}
      count=${rows.length}
      draw=${draw}
      rowAt=${(at) => ({ key: rows[at].key, kind: rows[at].kind })}
      dependsOn=${(at) => [rows[at], end, isAdmin, prompt?.turn]}
      estimate=${40}
      label="Waterfall"
      follow=${running}
    />
  </div>`;
}

/** A list only grows at its end: a new key makes a new list if rows came in between. */
function useListKey(rows = []) {
  const known = useRef({ keys: [], generation: 0 });
  const before = known.current;
  if (rows === before.rows) return before.generation;
  const keys = rows.map(({ key }) => key);
  const isExtended = before.keys.every((key, index) => key === keys[index]);
  known.current = { rows, keys, generation: before.generation + (isExtended ? 0 : 1) };
  return known.current.generation;
}

/** Numbers turns in the order in which they started. */
function turnNumber(rows, at) {
  let count = 0;
  for (let index = 0; index <= at; index += 1) if (rows[index].kind === 'turn') count += 1;
  return count;
}

function Shares({ rows, end }) {
  const { waiting, thinking, tools } = useMemo(() => sharesOf(rows), [rows]);
  return html`<p class="fall-shares">
    <span data-part="wait">waiting for the model ${duration(waiting)}</span>
    <span data-part="turn">model working ${duration(thinking)}</span>
    <span data-part="call">tools ${duration(tools)}</span>
    <span class="quiet">of ${duration(end)}</span>
  </p>`;
}

function Line({ row, end, currency, name, onPrompt, isAsked }) {
  const { kind, item, turn, lane, start, wait } = row;
  const took = row.end - start;
  const heading = item ? headingOf(item) : { name, about: '' };
  const failed = item?.status === 'failed';
  const place = (from, to) => ({
    insetInlineStart: `${(from / end) * 100}%`,
    inlineSize: `${((to - from) / end) * 100}%`,
  });
  return html`<div class="fall-row" data-kind=${kind} data-asked=${isAsked} data-state=${row.open ? 'working' : failed ? 'failed' : 'done'}>
    <span class="fall-name"><span>${heading.name}</span>${lane !== undefined && html` <span class="mark">lane ${lane}</span>`}${heading.about && html` <span class="fall-about" dir="auto">${heading.about}</span>`}</span>
    <span class="fall-track" aria-hidden="true">
      ${wait > 0 && html`<span class="fall-bar" data-part="wait" style=${place(start, start + wait)}></span>`}
      <span class="fall-bar" data-part=${kind} style=${place(start + wait, row.end)}></span>
    </span>
    <span class="fall-facts">
      <span>${duration(took)}${row.open ? ' so far' : ''}${failed ? html` <span class="bad">failed</span>` : ''}</span>
      ${wait > 0 && html`<span>waited ${duration(wait)}</span>`}
      ${turn && html`<span title=${tokensInFull(turn)}>${compact(turn.input_tokens)} in, ${compact(turn.output_tokens)} out</span>`}
      ${turn && turn.cost !== null && html`<span>${money({ total: turn.cost, currency })}</span>`}
      ${onPrompt && html`<${Button} kind="link" aria-label=${`Prompt of ${name}`} aria-expanded=${String(isAsked)} onClick=${onPrompt}>Prompt<//>`}
    </span>
  </div>`;
}

function tokensInFull(turn) {
  const read = `${number(turn.input_tokens)} tokens read, ${number(turn.cached_tokens)} of them from the provider's cache`;
  return `${read}; ${number(turn.output_tokens)} written, ${number(turn.reasoning_tokens)} of them thoughts`;
}
