import { app, go } from '../app.js';
import { bytes, when } from '../format.js';
import { html, useEffect, useState } from '../lib/preact.js';
import { Button, Empty, Failure } from '../parts/controls.js';
import { Link } from '../parts/link.js';
import { useTitle } from '../parts/title.js';
import { documents } from './collection.js';

const PAGE = 100;

/** The collections of the key's user. */
export function Collections() {
  const { client } = app.value;
  useTitle('Documents');
  const [list, setList] = useState({ collections: undefined, hasMore: false });
  const [name, setName] = useState('');
  const [error, setError] = useState(null);
  const read = async (known = []) => {
    setError(null);
    try {
      const { data, has_more: hasMore } = await client.collections({ limit: PAGE, after: known.at(-1)?.id });
      setList({ collections: [...known, ...data], hasMore });
    } catch (thrown) {
      setError(thrown);
    }
  };
  useEffect(() => void read(), []);
  const create = async (event) => {
    event.preventDefault();
    setError(null);
    await client.createCollection(name.trim()).then(({ id }) => go({ name: 'documents', id }), setError);
  };
  const { collections, hasMore } = list;
  return html`<section class="list">
    <header class="list-head"><h1 tabindex="-1">Documents</h1></header>
    <p class="quiet">Collections of your own documents: they are read once, searched, and asked with their pages cited.</p>
    <form class="list-tools" aria-label="New collection" onSubmit=${create}>
      <label class="list-search"><span class="sr">Name of a new collection</span>
        <input placeholder="Name of a new collection" dir="auto" maxlength="256" value=${name} onInput=${(event) => setName(event.currentTarget.value)} /></label>
      <button type="submit" class="button primary" disabled=${name.trim() === ''}><span>Make it</span></button>
    </form>
    <${Failure} error=${error} onRetry=${() => read()} />
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
    ${hasMore && html`<p class="more"><${Button} onClick=${() => read(collections)}>Older<//></p>`}
  </section>`;
}
