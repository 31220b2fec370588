import { app, go, move } from '../app.js';
import { number } from '../format.js';
import { html, useEffect, useRef, useState } from '../lib/preact.js';
import { Entry } from '../list/entry.js';
import { KINDS, runOfEntry } from '../list/kinds.js';
import { dayStart, groupByDay, groupThreads, matchesQuery } from '../list/threads.js';
import { useList } from '../list/use-list.js';
import { Button, Choice, DateRange, Empty, Failure, Tabs, WideField } from '../parts/controls.js';
import { useTitle } from '../parts/title.js';
import { useQuestions } from '../run/questions.js';

/** How many runs a search reads before it asks whether to continue, and in pages of how many. */
const SEARCH_LIMIT = 500;
const SEARCH_PAGE = 100;
/** A search starts after a pause in typing, in milliseconds. */
const PAUSE_MS = 250;

const ALL = ['', 'all'];

/** Responses and tasks of this key's user, newest first. The filters are in the address. */
export function Runs({ kind = 'runs', place = {} }) {
  const { client } = app.value;
  useTitle(kind === 'tasks' ? 'Tasks' : 'Runs');
  const status = KINDS[kind].statuses.includes(place.status) ? place.status : '';
  const model = kind === 'runs' ? (place.model ?? '') : '';
  const query = (place.q ?? '').slice(0, 200);
  const { from = '', to = '' } = place;
  const [chosen, setChosen] = useState([]);
  const { entries, loadMore, error, load, loading, replaceEntry } = useList(KINDS[kind], { status, model });
  const search = useSearch({ client, query, from, to, entries, loadMore, loading, error });
  const isSearching = query !== '' || from !== '' || to !== '';
  const choose = (id) =>
    setChosen(chosen.includes(id) ? chosen.filter((other) => other !== id) : [...chosen, id].slice(-2));
  const act = async (id, work) => {
    const updated = await work();
    if (!updated) setChosen((before) => before.filter((other) => other !== id));
    replaceEntry(id, updated);
    void load();
  };
  const renderEntry = (entry, day) => html`<${Entry}
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
        html`<${Button} icon="compare" disabled=${chosen.length !== 2} onClick=${() => go({ name: 'compare', left: chosen[0], right: chosen[1] })}>${chosen.length === 0 ? 'Select two to compare' : `Compare (${chosen.length} of 2)`}<//>`
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
      ${entries && isSearching && html`<p class="quiet" role="status">${search.about}</p>`}
      ${entries && search.found.length === 0 && !search.isReading && html`<${NoRuns} kind=${kind} filtered=${status !== '' || model !== '' || isSearching} />`}
      ${groupByDay(groupThreads(search.found)).map(
        ({ day, threads }) => html`<section class="day" key=${day}>
          <h2>${day}</h2>
          <ul class="entries">${threads.map((thread) => html`<${Thread} key=${thread.key} thread=${thread} renderEntry=${(entry) => renderEntry(entry, thread.newest)} />`)}</ul>
        </section>`,
      )}
      ${(isSearching ? search.hasOlder : loadMore) && !search.isReading && html`<p class="more"><${Button} disabled=${loading} onClick=${isSearching ? search.readOn : () => loadMore()}>${loading ? 'Loading…' : isSearching ? 'Search older runs' : 'Load older'}<//></p>`}
    </div>
  </section>`;
}

/** A question and the follow-ups to it. */
function Thread({ thread, renderEntry }) {
  const [first, ...others] = thread.entries;
  return html`<li>
    ${renderEntry(first)}
    ${others.length > 0 && html`<ol class="thread" aria-label="Follow-ups">${others.map((entry) => html`<li key=${entry.id}>${renderEntry(entry)}</li>`)}</ol>`}
  </li>`;
}

function Filters({ kind, status, model, query, from, to }) {
  const { models } = app.value;
  const [typed, setTyped] = useState(query);
  /** The query that this field last put into the address; another one there replaces the text of the field. */
  const lastQuery = useRef(query);
  useEffect(() => {
    if (lastQuery.current !== query) setTyped(query);
    lastQuery.current = query;
  }, [query]);
  useEffect(() => {
    const timer = setTimeout(() => {
      lastQuery.current = typed.trim() === '' ? '' : typed;
      move({ q: lastQuery.current || undefined });
    }, PAUSE_MS);
    return () => clearTimeout(timer);
  }, [typed]);
  const names = models.filter(({ supported_apis: apis }) => apis.includes('responses')).map(({ id }) => id);
  if (model !== '' && !names.includes(model)) names.push(model);
  const statuses = KINDS[kind].statuses.map((name) => [name, name.toLowerCase().replace('_', ' ')]);
  return html`<form class="list-tools" role="search" onSubmit=${(event) => event.preventDefault()}>
    <${WideField} type="search" label="Search questions and tags" value=${typed} maxlength="200" onText=${setTyped} />
    <${Choice} label="Status" value=${status} options=${[ALL, ...statuses]} onChoose=${(chosen) => move({ status: chosen })} />
    ${kind === 'runs' && html`<${Choice} label="Model" value=${model} options=${[ALL, ...names]} onChoose=${(chosen) => move({ model: chosen })} />`}
    <${DateRange} from=${from} to=${to} onMove=${move} />
  </form>`;
}

function NoRuns({ kind, filtered }) {
  if (filtered) return html`<${Empty} title="No matches">No run matches these filters.<//>`;
  return html`<${Empty} title=${kind === 'tasks' ? 'No tasks' : 'No runs yet'}>
    ${kind === 'tasks' ? 'Tasks that programs submit with POST /v1/async appear here.' : 'Ask a question here, or submit one to /v1/responses: it appears in this list.'}
  <//>`;
}

/**
 * The entries of these days whose question, model, tag or id has all words. The search reads older pages, up to a limit that
 * grows on demand, and not beyond the first day.
 */
function useSearch({ client, query, from, to, entries = [], loadMore, loading, error }) {
  const [limit, setLimit] = useState(SEARCH_LIMIT);
  const untitled = query === '' ? [] : entries.filter(({ title }) => title === '').map(runOfEntry);
  const questions = useQuestions(client, untitled);
  const [first, end] = [dayStart(from) ?? 0, dayStart(to, 1) ?? Number.POSITIVE_INFINITY];
  const isFiltered = query !== '' || first > 0 || end < Number.POSITIVE_INFINITY;
  const hasOlder = loadMore !== undefined && (entries.at(-1)?.created ?? 0) >= first;
  const isReading = isFiltered && hasOlder && entries.length < limit;
  useEffect(() => {
    // After an error the next refresh of the first page tries again.
    if (isReading && !loading && !error) void loadMore(SEARCH_PAGE);
  }, [isReading, loading, entries.length, error]);
  if (!isFiltered) return { found: entries, isReading: false };
  const found = entries.filter(
    (entry) =>
      entry.created >= first &&
      entry.created < end &&
      matchesQuery(query, [entry.title, entry.model, entry.tag, entry.id, questions.get(runOfEntry(entry)) ?? '']),
  );
  const about = `${number(found.length)} of ${number(entries.length)} runs match${isReading ? '; searching older ones…' : hasOlder ? '; older ones were not searched.' : '.'}`;
  return { found, about, isReading, hasOlder, readOn: () => setLimit(entries.length + SEARCH_LIMIT) };
}
