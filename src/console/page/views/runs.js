import { app, forget, go } from '../app.js';
import { exactly, line, when } from '../format.js';
import { html, useEffect, useRef, useState } from '../lib/preact.js';
import { Button, ConfirmButton, Empty, Failure, Status, Tabs } from '../parts/controls.js';
import { Link } from '../parts/link.js';
import { useSeen } from '../parts/seen.js';
import { useTitle } from '../parts/title.js';
import { useFacts } from '../run/facts.js';
import { useQuestion } from '../run/use-run.js';

const PAGE = 20;
const REFRESH_MS = 4000;
const KINDS = {
  responses: {
    statuses: ['in_progress', 'completed', 'failed', 'cancelled'],
    list: (client, query) =>
      client.responses(query).then(({ data, has_more }) => ({ data: data.map(fromResponse), has_more })),
    cancel: (client, id) => client.cancel(id),
    remove: (client, id) => client.remove(id),
    view: 'run',
  },
  tasks: {
    statuses: ['CREATED', 'IN_PROGRESS', 'COMPLETED', 'FAILED', 'CANCELLED'],
    list: (client, query) =>
      client.tasks(query).then(({ tasks, has_more }) => ({ data: tasks.map(fromTask), has_more })),
    cancel: (client, id) => client.cancelTask(id),
    remove: (client, id) => client.removeTask(id),
    view: 'task',
  },
};
const OPEN = /^(in_progress|created|queued)$/i;

function fromResponse({ id, status, model, created_at, completed_at, metadata }) {
  const ended = completed_at ? completed_at * 1000 : null;
  return {
    id,
    status,
    model,
    created: created_at * 1000,
    ended,
    title: String(metadata?.title ?? metadata?.name ?? ''),
  };
}

function fromTask({ id, status, model, created_at, completed_at, cancelled_at }) {
  const ended = completed_at ?? cancelled_at;
  return { id, status, model, created: Date.parse(created_at), ended: ended ? Date.parse(ended) : null, title: '' };
}

/** Responses and tasks of this key's user, newest first. */
export function Runs({ kind = 'responses' }) {
  const { client, models } = app.value;
  useTitle(kind === 'tasks' ? 'Tasks' : 'Runs');
  const [status, setStatus] = useState('');
  const [model, setModel] = useState('');
  const [chosen, setChosen] = useState([]);
  const { entries, more, error, load, loading } = useList(KINDS[kind], {
    status,
    model: kind === 'responses' ? model : '',
  });
  const choose = (id) =>
    setChosen(chosen.includes(id) ? chosen.filter((other) => other !== id) : [...chosen, id].slice(-2));
  const act = async (work) => {
    await work();
    void load();
  };
  const filtered = status !== '' || model !== '';
  return html`<section class="list">
    <header class="list-head">
      <h1 tabindex="-1">Runs</h1>
      <div class="list-tools">
        <label class="inline">State <select value=${status} onChange=${(event) => setStatus(event.currentTarget.value)}>
          <option value="">all</option>
          ${KINDS[kind].statuses.map((name) => html`<option value=${name} key=${name}>${name.toLowerCase().replace('_', ' ')}</option>`)}
        </select></label>
        ${
          kind === 'responses' &&
          html`<label class="inline">Model <select value=${model} onChange=${(event) => setModel(event.currentTarget.value)}>
          <option value="">all</option>
          ${models.filter(({ supported_apis: apis }) => apis.includes('responses')).map(({ id }) => html`<option value=${id} key=${id}>${id}</option>`)}
        </select></label>`
        }
        ${
          kind === 'responses' &&
          html`<${Button} icon="compare" disabled=${chosen.length !== 2} title="Choose two runs in the list" onClick=${() => go({ name: 'compare', ids: chosen })}>Compare${chosen.length > 0 ? ` (${chosen.length} of 2)` : ''}<//>`
        }
      </div>
    </header>
    <${Tabs}
      label="Interface"
      panel="list-panel"
      selected=${kind}
      onSelect=${(next) => {
        setStatus('');
        setChosen([]);
        go({ name: 'runs', kind: next }, { replace: true });
      }}
      tabs=${[{ id: 'responses', label: 'Responses' }, { id: 'tasks', label: 'Tasks' }]}
    />
    <div id="list-panel" role="tabpanel" aria-labelledby=${`tab-${kind}`}>
    <${Failure} error=${error} onRetry=${load} />
    ${
      entries?.length === 0 &&
      html`<${Empty} title=${filtered ? 'Nothing fits' : kind === 'tasks' ? 'No tasks' : 'No runs yet'}>
      ${filtered ? 'No run has this state and model.' : kind === 'tasks' ? 'Programs submit tasks with POST /v1/async; they appear here.' : html`Ask something, or let a program ask: what this key submits to /v1/responses appears here.`}
    <//>`
    }
    ${
      entries &&
      entries.length > 0 &&
      html`<ul class="entries">
      ${entries.map(
        (entry) => html`<${Entry}
          key=${entry.id}
          entry=${entry}
          kind=${kind}
          client=${client}
          chosen=${chosen.includes(entry.id)}
          onChoose=${() => choose(entry.id)}
          onAct=${act}
        />`,
      )}
    </ul>`
    }
    ${more && html`<p class="more"><${Button} disabled=${loading} onClick=${more}>${loading ? 'Loading…' : 'Older'}<//></p>`}
    </div>
  </section>`;
}

function Entry({ entry, kind, client, chosen, onChoose, onAct }) {
  const { id, status, model, created, title } = entry;
  const [error, setError] = useState(null);
  const { view, cancel, remove } = KINDS[kind];
  const place = useRef(null);
  const seen = useSeen(place);
  const facts = useFacts(client, { id, seen: seen && kind === 'responses' && !OPEN.test(status) });
  const attempt = async (work) => {
    setError(null);
    await onAct(work).catch(setError);
  };
  const leave = async () => {
    await remove(client, id);
    forget(id);
  };
  return html`<li class="entry-line" ref=${place}>
    ${kind === 'responses' && html`<input type="checkbox" aria-label="Choose to compare" checked=${chosen} onChange=${onChoose} />`}
    <${Link} class="entry-open" to=${{ name: view, id }}>
      <span class="entry-question" dir="auto">${title !== '' ? line(title, 200) : html`<${Question} client=${client} id=${id} />`}</span>
      <span class="entry-about-line"><${Status} status=${facts?.status ?? status} reason=${facts?.reason} /><span>${model}</span><time title=${exactly(created)}>${when(created)}</time></span>
    <//>
    ${
      OPEN.test(status)
        ? html`<${Button} kind="bare" icon="stop" aria-label="Stop" title="Stop" onClick=${() => attempt(() => cancel(client, id))} />`
        : html`<${ConfirmButton} kind="bare" icon="trash" aria-label="Delete" title="Delete" question="Delete?" onConfirm=${() => attempt(leave)} />`
    }
    <${Failure} error=${error} />
  </li>`;
}

/** Of runs that say nothing about themselves, what was asked. */
function Question({ client, id }) {
  const run = id.replace(/^task_/, 'resp_');
  const question = useQuestion(client, run);
  return question === undefined ? '…' : line(question.text, 200) || id;
}

/** The first page, read again while something is in progress, and older pages on demand. */
function useList(kind, filter) {
  const { client } = app.value;
  const [list, setList] = useState({ entries: undefined, hasMore: false, error: null });
  const [loading, setLoading] = useState(false);
  const current = useRef(0);
  const query = (after) => ({ limit: PAGE, after, ...filter });

  const load = async () => {
    const own = ++current.current;
    try {
      const { data, has_more: hasMore } = await kind.list(client, query());
      if (own !== current.current) return;
      // Older pages stay; the first is the newest truth.
      setList((before) => {
        const fresh = new Set(data.map(({ id }) => id));
        const oldest = data.at(-1);
        const older = (before.entries ?? []).filter(
          ({ id, created }) => oldest && !fresh.has(id) && created < oldest.created,
        );
        const kept = hasMore ? older : [];
        return { entries: [...data, ...kept], hasMore: kept.length > 0 ? before.hasMore : hasMore, error: null };
      });
    } catch (error) {
      if (own === current.current) setList((before) => ({ ...before, error }));
    }
  };
  useEffect(() => {
    setList({ entries: undefined, hasMore: false, error: null });
    void load();
    const timer = setInterval(() => {
      if (!document.hidden) void load();
    }, REFRESH_MS);
    return () => {
      clearInterval(timer);
      current.current += 1;
    };
  }, [kind, filter.status, filter.model]);
  const more = async () => {
    setLoading(true);
    try {
      const { data, has_more: hasMore } = await kind.list(client, query(list.entries.at(-1).id));
      setList((before) => ({ entries: [...before.entries, ...data], hasMore, error: null }));
    } catch (error) {
      setList((before) => ({ ...before, error }));
    }
    setLoading(false);
  };
  return { entries: list.entries, error: list.error, loading, load, more: list.hasMore ? more : undefined };
}
