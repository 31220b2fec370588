import { app, go } from '../app.js';
import { bytes, when } from '../format.js';
import { html, useState } from '../lib/preact.js';
import { usePages } from '../parts/asking.js';
import { Button, Empty, Failure, WideField } from '../parts/controls.js';
import { Link } from '../parts/link.js';
import { useTitle } from '../parts/title.js';
import { documents } from './collection.js';

/** The collections of the key's user. */
export function Collections() {
  const { client } = app.value;
  useTitle('Documents');
  const { entries: collections, attempt, error, read, older } = usePages((page) => client.collections.list(page));
  const [name, setName] = useState('');
  const create = (event) => {
    event.preventDefault();
    const made = () => client.collections.create({ name: name.trim() });
    void attempt(() => made().then(({ id }) => go({ name: 'documents', id })));
  };
  return html`<section class="list">
    <header class="list-head"><h1 tabindex="-1">Documents</h1></header>
    <p class="quiet">Collections of your own documents: they are read once, searched, and asked with their pages cited.</p>
    <form class="list-tools" aria-label="New collection" onSubmit=${create}>
      <${WideField} label="Name of a new collection" maxlength="256" value=${name} onText=${setName} />
      <button type="submit" class="button primary" disabled=${name.trim() === ''}><span>Make it</span></button>
    </form>
    <${Failure} error=${error} onRetry=${read} />
    ${collections?.length === 0 && html`<${Empty} title="No collections yet">Make one, and put documents into it.<//>`}
    ${
      collections?.length > 0 &&
      html`<ul class="entries">${collections.map(
        (collection) => html`<li key=${collection.id}><div class="entry-line">
          <${Link} class="entry-open" to=${{ name: 'documents', id: collection.id }}>
            <span class="entry-question" dir="auto">${collection.name || collection.id}</span>
            <span class="entry-about-line">
              <span>${documents(collection.file_counts.total)}</span>
              <span class="entry-number">${bytes(collection.usage_bytes)}</span>
              <time>${when(collection.created_at * 1000)}</time>
            </span>
          <//>
        </div></li>`,
      )}</ul>`
    }
    ${older && html`<p class="more"><${Button} onClick=${older}>Older<//></p>`}
  </section>`;
}
