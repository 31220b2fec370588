import { app, ask, go } from '../app.js';
import { line, number } from '../format.js';
import { html, useEffect, useRef, useState } from '../lib/preact.js';
import { useAttempt } from '../parts/asking.js';
import { Composer } from '../parts/composer.js';
import { ConfirmButton, Empty, Failure, Status } from '../parts/controls.js';
import { FilePicker, useFiles, Waiting } from '../parts/file-picker.js';
import { useTitle } from '../parts/title.js';
import { Search } from './search.js';

const PAGE = 100;
/** Files whose names are looked up. */
const MOST_NAMES = 1000;
/** How often it is looked how far reading is, in milliseconds. */
const LOOK_MS = 2000;

/** One collection: what is in it and how far it is read, searching it, and asking with it. */
export function Collection({ id }) {
  const { client, models } = app.value;
  const [collection, setCollection] = useState(null);
  const [files, setFiles] = useState([]);
  const names = useNames(client);
  const { attempt, error, setError } = useAttempt();
  /** Why the last look failed. */
  const [away, setAway] = useState(null);
  const reading = collection?.file_counts.in_progress > 0;
  useTitle(collection?.name ?? 'Documents');
  const look = async () => {
    try {
      const [found, { data }] = await Promise.all([
        client.collections.get(id),
        client.collections.part(id, 'files', { limit: PAGE }),
      ]);
      setCollection(found);
      setFiles(data);
      await names.look(data);
      setAway(null);
    } catch (thrown) {
      setAway(thrown);
    }
  };
  useEffect(() => void look(), [id]);
  useEffect(() => {
    if (!reading) return;
    const timer = setTimeout(look, LOOK_MS);
    return () => clearTimeout(timer);
  }, [collection, away]);
  const put = async (file) => {
    const { id: uploaded } = await client.upload(file);
    await client.collections.act(id, 'files', { file_id: uploaded });
    await look();
  };
  const { waiting, add } = useFiles(put, { onProblem: setError });
  const remove = () => attempt(() => client.collections.remove(id).then(() => go({ name: 'documents' })));
  const takeOut = (file) => attempt(() => client.files.remove(file).then(look));
  const usable = models.filter(({ supported_apis: apis }) => apis.includes('responses'));
  return html`<section class="list">
    <header class="list-head"><h1 tabindex="-1" dir="auto">${collection?.name || (collection ? id : 'Documents')}</h1>
      <div class="actions">${collection && html`<${ConfirmButton} icon="trash" question="Delete it? Its documents stay." onConfirm=${remove}>Delete<//>`}</div></header>
    <${Failure} error=${away} onRetry=${look} />
    <${Failure} error=${error} />
    ${collection && html`<p class="run-about" role="status">${countsOf(collection.file_counts)}</p>`}
    ${collection && html`<${Drop} onFiles=${add} waiting=${waiting} />`}
    ${collection && files.length === 0 && waiting.length === 0 && html`<${Empty} title="Nothing in it yet" />`}
    <ul class="entries" aria-label="Documents">${files.map(
      (file) => html`<li key=${file.id}><div class="entry-line">
        <div class="entry-open">
          <span class="entry-question" dir="auto">${line(names.of(file.id), 200)}</span>
          <span class="entry-about-line"><${Status} status=${file.status} />${file.last_error && html`<span dir="auto">${line(file.last_error.message, 300)}</span>`}</span>
        </div>
        <${ConfirmButton} kind="bare" icon="trash" aria-label=${`Delete ${names.of(file.id)}`} title="Delete" question="Delete it everywhere?" onConfirm=${() => takeOut(file.id)} />
      </div></li>`,
    )}</ul>
    ${collection?.file_counts.total > files.length && html`<p class="quiet">The newest ${number(files.length)} are shown.</p>`}
    ${collection?.file_counts.completed > 0 && html`<${Search} id=${id} />`}
    ${
      collection?.file_counts.completed > 0 &&
      usable.length > 0 &&
      html`<section class="follow-up"><h2>Ask with it</h2>
        <p class="quiet">Only this collection is searched, unless other tools are chosen too.</p>
        <${Composer} models=${usable} onSubmit=${(body, once) => ask(withCollection(body, id), once)} /></section>`
    }
  </section>`;
}

/** The names of files: a collection knows them by their ids alone. What is not among the newest ones is not asked for again. */
function useNames(client) {
  const known = useRef(new Map());
  const [, draw] = useState(0);
  const look = async (files) => {
    if (files.every(({ id }) => known.current.has(id))) return;
    const { data } = await client.files.list({ limit: MOST_NAMES });
    for (const { id } of files) known.current.set(id, id);
    for (const { id, filename } of data) known.current.set(id, filename);
    draw((n) => n + 1);
  };
  return { look, of: (id) => known.current.get(id) ?? id };
}

function withCollection({ tool_choice: _, ...body }, id) {
  return { ...body, tools: [...(body.tools ?? []), { type: 'file_search', vector_store_ids: [id] }] };
}

export function documents(count) {
  return `${number(count)} document${count === 1 ? '' : 's'}`;
}

function countsOf({ total, completed, in_progress: open, failed }) {
  const parts = [
    documents(total),
    completed < total && `${number(completed)} read`,
    open > 0 && `${number(open)} being read`,
    failed > 0 && `${number(failed)} could not be read`,
  ];
  return parts.filter(Boolean).join(', ');
}

/** Where files are dropped, or chosen. */
function Drop({ onFiles, waiting }) {
  const [over, setOver] = useState(false);
  const drop = (event) => {
    event.preventDefault();
    setOver(false);
    void onFiles([...event.dataTransfer.files]);
  };
  return html`<div
    class="drop"
    data-over=${over}
    onDragOver=${(event) => {
      event.preventDefault();
      setOver(true);
    }}
    onDragLeave=${() => setOver(false)}
    onDrop=${drop}
  >
    <${FilePicker} label="Add documents" onFiles=${onFiles} />
    <span class="quiet">or drop them here: PDF, Word, Excel, PowerPoint, EPUB, HTML, text, CSV, JSON</span>
    <${Waiting} files=${waiting} doing="sent" />
  </div>`;
}
