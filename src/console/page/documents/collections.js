import { app, goAfter } from '../app.js';
import { bytes, counted, when } from '../format.js';
import { html, useState } from '../lib/preact.js';
import { Button, Empty, Failure, WideField } from '../parts/controls.js';
import { Link } from '../parts/link.js';
import { usePages } from '../parts/request-hooks.js';
import { useTitle } from '../parts/title.js';

/** The collections of the key's user. */
export function Collections() {
  const { client } = app.value;
  useTitle('Documents');
  const { entries: collections, attempt, error, read, older } = usePages((page) => client.collections.list(page));
  const [name, setName] = useState('');
  const create = (event) => {
    event.preventDefault();
    const made = async () => ({ name: 'documents', id: (await client.collections.create({ name: name.trim() })).id });
    void attempt(() => goAfter(made()));
  };
  return html`<section class="list">
    <header class="list-head"><h1 tabindex="-1">Documents</h1></header>
    <p class="quiet">Collections of your own documents: search them, or ask about them and get their pages cited.</p>
    <form class="list-tools" aria-label="New collection" onSubmit=${create}>
      <${WideField} label="Name of a new collection" maxlength="256" value=${name} onText=${setName} />
      <button type="submit" class="button primary" disabled=${name.trim() === ''}><span>Create</span></button>
    </form>
    <${Failure} error=${error} onRetry=${read} />
    ${collections?.length === 0 && html`<${Empty} title="No collections yet">Create one and add documents.<//>`}
    ${
      collections?.length > 0 &&
      html`<ul class="entries">${collections.map(
        (collection) => html`<li key=${collection.id}><div class="entry-line">
          <${Link} class="entry-open" to=${{ name: 'documents', id: collection.id }}>
            <span class="entry-question" dir="auto">${collection.name || collection.id}</span>
            <span class="entry-about-line">
              <span>${counted(collection.file_counts.total, 'document')}</span>
              <span class="entry-number">${bytes(collection.usage_bytes)}</span>
              <time>${when(collection.created_at * 1000)}</time>
            </span>
          <//>
        </div></li>`,
      )}</ul>`
    }
    ${older && html`<p class="more"><${Button} onClick=${older}>Load older<//></p>`}
  </section>`;
}
