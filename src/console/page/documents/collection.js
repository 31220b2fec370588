import { app, ask, goAfter } from '../app.js';
import { counted, line, number } from '../format.js';
import { html, useEffect, useRef, useState } from '../lib/preact.js';
import { Composer } from '../parts/composer.js';
import { ConfirmButton, Empty, Failure, Status } from '../parts/controls.js';
import { FilePicker, useFiles, Waiting } from '../parts/file-picker.js';
import { useAttempt } from '../parts/request-hooks.js';
import { useTitle } from '../parts/title.js';
import { Search } from './search.js';

const PAGE_SIZE = 100;
/** How many files are listed to find names. */
const MAX_NAMES = 1000;
/** How often the progress of reading is asked for, in milliseconds. */
const POLL_MS = 2000;

/** One collection: its documents and their progress, a search, and a form to ask about it. */
export function Collection({ id }) {
  const { client, models } = app.value;
  const [collection, setCollection] = useState(null);
  const [files, setFiles] = useState([]);
  const names = useNames(client);
  const { attempt, error, setError } = useAttempt();
  const [loadError, setLoadError] = useState(null);
  // The counts and the list are two answers: either may be the older one.
  const reading = collection?.file_counts.in_progress > 0 || files.some(({ status }) => status === 'in_progress');
  const latest = useRef(0);
  useTitle(collection?.name ?? 'Documents');
  const refresh = async () => {
    latest.current += 1;
    const own = latest.current;
    try {
      const [found, { data }] = await Promise.all([
        client.collections.get(id),
        client.collections.part(id, 'files', { limit: PAGE_SIZE }),
      ]);
      // The answer to a newer request is what holds.
      if (own !== latest.current) return;
      setCollection(found);
      setFiles(data);
      await names.load(data);
      setLoadError(null);
    } catch (thrown) {
      if (own === latest.current) setLoadError(thrown);
    }
  };
  useEffect(() => void refresh(), [id]);
  useEffect(() => {
    if (!reading) return;
    const timer = setTimeout(refresh, POLL_MS);
    return () => clearTimeout(timer);
  }, [collection, loadError]);
  const addFile = async (file) => {
    const { id: uploaded } = await client.upload(file);
    await client.collections.act(id, 'files', { file_id: uploaded });
    await refresh();
  };
  const { waiting, add } = useFiles(addFile, { onProblem: setError });
  const remove = () => attempt(() => goAfter(client.collections.remove(id).then(() => ({ name: 'documents' }))));
  const removeFile = (file) => attempt(() => client.files.remove(file).then(refresh));
  const usable = models.filter(({ supported_apis: apis }) => apis.includes('responses'));
  return html`<section class="list">
    <header class="list-head"><h1 tabindex="-1" dir="auto">${collection?.name || (collection ? id : 'Documents')}</h1>
      <div class="actions">${collection && html`<${ConfirmButton} icon="trash" question="Delete? Its documents stay." onConfirm=${remove}>Delete<//>`}</div></header>
    <${Failure} error=${loadError} onRetry=${refresh} />
    <${Failure} error=${error} />
    ${collection && html`<p class="run-about" role="status">${countsOf(collection.file_counts)}</p>`}
    ${collection && html`<${Drop} onFiles=${add} waiting=${waiting} />`}
    ${collection && files.length === 0 && waiting.length === 0 && html`<${Empty} title="No documents yet" />`}
    <ul class="entries" aria-label="Documents">${files.map(
      (file) => html`<li key=${file.id}><div class="entry-line">
        <div class="entry-open">
          <span class="entry-question" dir="auto">${line(names.of(file.id), 200)}</span>
          <span class="entry-about-line"><${Status} status=${file.status} />${file.last_error && html`<span dir="auto">${line(file.last_error.message, 300)}</span>`}</span>
        </div>
        <${ConfirmButton} kind="bare" icon="trash" aria-label=${`Delete ${names.of(file.id)}`} title="Delete" question="Delete everywhere?" onConfirm=${() => removeFile(file.id)} />
      </div></li>`,
    )}</ul>
    ${collection?.file_counts.total > files.length && html`<p class="quiet">Showing the newest ${number(files.length)}.</p>`}
    ${collection?.file_counts.completed > 0 && html`<${Search} id=${id} />`}
    ${
      collection?.file_counts.completed > 0 &&
      usable.length > 0 &&
      html`<section class="follow-up"><h2>Ask about these documents</h2>
        <p class="quiet">Only this collection is searched unless you also choose other tools.</p>
        <${Composer} models=${usable} onSubmit=${(body, options) => ask(withCollection(body, id), options)} /></section>`
    }
  </section>`;
}

/** The names of files, of which a collection has only the ids. A file that is not among the newest ones keeps its id as its name. */
function useNames(client) {
  const known = useRef(new Map());
  const [, draw] = useState(0);
  const load = async (files) => {
    if (files.every(({ id }) => known.current.has(id))) return;
    const { data } = await client.files.list({ limit: MAX_NAMES });
    for (const { id } of files) known.current.set(id, id);
    for (const { id, filename } of data) known.current.set(id, filename);
    draw((n) => n + 1);
  };
  return { load, of: (id) => known.current.get(id) ?? id };
}

function withCollection({ tool_choice: _, ...body }, id) {
  return { ...body, tools: [...(body.tools ?? []), { type: 'file_search', vector_store_ids: [id] }] };
}

function countsOf({ total, completed, in_progress: open, failed }) {
  const parts = [
    counted(total, 'document'),
    completed < total && `${number(completed)} read`,
    open > 0 && `${number(open)} being read`,
    failed > 0 && `${number(failed)} could not be read`,
  ];
  return parts.filter(Boolean).join(', ');
}

/** Takes files that are dropped or chosen. */
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
    <${Waiting} files=${waiting} doing="Uploading" />
  </div>`;
}
