import { app, go, move } from '../app.js';
import { number } from '../format.js';
import { html, useEffect, useRef, useState } from '../lib/preact.js';
import { Entry } from '../list/entry.js';
import { KINDS, runOfEntry } from '../list/kinds.js';
import { dayStart, daysOf, fits, threadsOf } from '../list/threads.js';
import { useList } from '../list/use-list.js';
import { Button, Choice, Days, Empty, Failure, Tabs, WideField } from '../parts/controls.js';
import { useTitle } from '../parts/title.js';
import { useQuestions } from '../run/questions.js';

/** A search reads so many runs before it asks whether to go on, in pages of this many. */
const SEARCHED = 500;
const SEARCH_PAGE = 100;
/** A search begins when its reader pauses, in milliseconds. */
const PAUSE_MS = 250;

const ALL = ['', 'all'];

/** Responses and tasks of this key's user, newest first. What they are filtered by stands in the address. */
export function Runs({ kind = 'runs', place = {} }) {
  const { client } = app.value;
  useTitle(kind === 'tasks' ? 'Tasks' : 'Runs');
  const status = KINDS[kind].statuses.includes(place.status) ? place.status : '';
  const model = kind === 'runs' ? (place.model ?? '') : '';
  const query = (place.q ?? '').slice(0, 200);
  const { from = '', to = '' } = place;
  const [chosen, setChosen] = useState([]);
  const { entries, more, error, load, loading, changed } = useList(KINDS[kind], { status, model });
  const search = useSearch({ client, query, from, to, entries, more, loading, error });
  const searches = query !== '' || from !== '' || to !== '';
  const choose = (id) =>
    setChosen(chosen.includes(id) ? chosen.filter((other) => other !== id) : [...chosen, id].slice(-2));
  const act = async (id, work) => {
    const now = await work();
    if (!now) setChosen(chosen.filter((other) => other !== id));
    changed(id, now);
    void load();
  };
  const draw = (entry, day) => html`<${Entry}
    entry=${entry}
    day=${day}
    kind=${kind}
    client=${client}
    chosen=${chosen.includes(entry.id)}
    onChoose=${kind === 'runs' && (() => choose(entry.id))}
    onAct=${act}
  />`;
  return html`<section class="list">
    <header class="list-head">
      <h1 tabindex="-1">Runs</h1>
      ${
        kind === 'runs' &&
        html`<${Button} icon="compare" disabled=${chosen.length !== 2} onClick=${() => go({ name: 'compare', left: chosen[0], right: chosen[1] })}>${chosen.length === 0 ? 'Choose two to compare' : `Compare (${chosen.length} of 2)`}<//>`
      }
    </header>
    <${Tabs}
      label="Interface"
      panel="list-panel"
      selected=${kind}
      onSelect=${(next) => {
        setChosen([]);
        go({ name: 'runs', kind: next }, { replace: true });
      }}
      tabs=${[{ id: 'runs', label: 'Responses' }, { id: 'tasks', label: 'Tasks' }]}
    />
    <div id="list-panel" role="tabpanel" aria-labelledby=${`tab-${kind}`}>
      <${Filters} key=${kind} kind=${kind} status=${status} model=${model} query=${query} from=${from} to=${to} />
      <${Failure} error=${error} onRetry=${load} />
      ${entries && searches && html`<p class="quiet" role="status">${search.about}</p>`}
      ${entries && search.found.length === 0 && !search.goesOn && html`<${Nothing} kind=${kind} filtered=${status !== '' || model !== '' || searches} />`}
      ${daysOf(threadsOf(search.found)).map(
        ({ day, threads }) => html`<section class="day" key=${day}>
          <h2>${day}</h2>
          <ul class="entries">${threads.map((thread) => html`<${Thread} key=${thread.key} thread=${thread} draw=${(entry) => draw(entry, thread.newest)} />`)}</ul>
        </section>`,
      )}
      ${(searches ? search.older : more) && !search.goesOn && html`<p class="more"><${Button} disabled=${loading} onClick=${searches ? search.goOn : () => more()}>${loading ? 'Loading…' : searches ? 'Search older ones' : 'Older'}<//></p>`}
    </div>
  </section>`;
}

/** A question and the follow-ups to it. */
function Thread({ thread, draw }) {
  const [first, ...others] = thread.entries;
  return html`<li>
    ${draw(first)}
    ${others.length > 0 && html`<ol class="thread" aria-label="Follow-ups">${others.map((entry) => html`<li key=${entry.id}>${draw(entry)}</li>`)}</ol>`}
  </li>`;
}

function Filters({ kind, status, model, query, from, to }) {
  const { models } = app.value;
  const [typed, setTyped] = useState(query);
  /** What the address says for this field: where it comes to say something else, the field says that, too. */
  const told = useRef(query);
  useEffect(() => {
    if (told.current !== query) setTyped(query);
    told.current = query;
  }, [query]);
  useEffect(() => {
    const timer = setTimeout(() => {
      told.current = typed.trim() === '' ? '' : typed;
      move({ q: told.current || undefined });
    }, PAUSE_MS);
    return () => clearTimeout(timer);
  }, [typed]);
  const names = models.filter(({ supported_apis: apis }) => apis.includes('responses')).map(({ id }) => id);
  if (model !== '' && !names.includes(model)) names.push(model);
  const statuses = KINDS[kind].statuses.map((name) => [name, name.toLowerCase().replace('_', ' ')]);
  return html`<form class="list-tools" role="search" onSubmit=${(event) => event.preventDefault()}>
    <${WideField} type="search" label="Search in questions and tags" value=${typed} maxlength="200" onText=${setTyped} />
    <${Choice} label="State" value=${status} options=${[ALL, ...statuses]} onChoose=${(chosen) => move({ status: chosen })} />
    ${kind === 'runs' && html`<${Choice} label="Model" value=${model} options=${[ALL, ...names]} onChoose=${(chosen) => move({ model: chosen })} />`}
    <${Days} from=${from} to=${to} onMove=${move} />
  </form>`;
}

function Nothing({ kind, filtered }) {
  if (filtered)
    return html`<${Empty} title="Nothing fits">No run has these words, this state, this model and this day.<//>`;
  return html`<${Empty} title=${kind === 'tasks' ? 'No tasks' : 'No runs yet'}>
    ${kind === 'tasks' ? 'Programs submit tasks with POST /v1/async; they appear here.' : 'Ask something, or let a program ask: what this key submits to /v1/responses appears here.'}
  <//>`;
}

/**
 * The entries of these days whose question, model, tag or id has the words: older pages are read for it, up to a bound that
 * moves on demand, and not behind the first day.
 */
function useSearch({ client, query, from, to, entries = [], more, loading, error }) {
  const [bound, setBound] = useState(SEARCHED);
  const untitled = query === '' ? [] : entries.filter(({ title }) => title === '').map(runOfEntry);
  const questions = useQuestions(client, untitled);
  const [first, end] = [dayStart(from) ?? 0, dayStart(to, 1) ?? Number.POSITIVE_INFINITY];
  const asked = query !== '' || first > 0 || end < Number.POSITIVE_INFINITY;
  const older = more !== undefined && (entries.at(-1)?.created ?? 0) >= first;
  const goesOn = asked && older && entries.length < bound;
  useEffect(() => {
    // What failed is tried again with the next look at the first page.
    if (goesOn && !loading && !error) void more(SEARCH_PAGE);
  }, [goesOn, loading, entries.length, error]);
  if (!asked) return { found: entries, goesOn: false };
  const found = entries.filter(
    (entry) =>
      entry.created >= first &&
      entry.created < end &&
      fits(query, [entry.title, entry.model, entry.tag, entry.id, questions.get(runOfEntry(entry)) ?? '']),
  );
  const about = `${number(found.length)} of ${number(entries.length)} runs fit${goesOn ? '; older ones are being read…' : older ? '; older ones were not searched.' : '.'}`;
  return { found, about, goesOn, older, goOn: () => setBound(entries.length + SEARCHED) };
}
