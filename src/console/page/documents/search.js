import { app } from '../app.js';
import { html, useState } from '../lib/preact.js';
import { Failure } from '../parts/controls.js';

/** Finds passages of a collection. */
export function Search({ id }) {
  const { client } = app.value;
  const [query, setQuery] = useState('');
  const [found, setFound] = useState(null);
  const [error, setError] = useState(null);
  const search = async (event) => {
    event.preventDefault();
    setError(null);
    await client.search(id, query).then(({ data }) => setFound(data), setError);
  };
  return html`<section>
    <form class="list-tools" role="search" onSubmit=${search}>
      <label class="list-search"><span class="sr">Search in these documents</span>
        <input type="search" placeholder="Search in these documents" dir="auto" maxlength="1000" value=${query} onInput=${(event) => setQuery(event.currentTarget.value)} /></label>
      <button type="submit" class="button" disabled=${query.trim() === ''}><span>Search</span></button>
    </form>
    <${Failure} error=${error} />
    ${found?.length === 0 && html`<p class="quiet" role="status">Nothing was found.</p>`}
    ${
      found?.length > 0 &&
      html`<ol class="passages" aria-label="Passages">${found.map(
        (hit, at) => html`<li key=${at}>
          <p class="run-about"><strong dir="auto">${hit.filename}</strong>${hit.page !== undefined && html`<span>page ${hit.page}</span>`}${hit.section && html`<span dir="auto">${hit.section}</span>`}</p>
          <blockquote dir="auto">${hit.content.map(({ text }) => text).join('\n')}</blockquote>
        </li>`,
      )}</ol>`
    }
  </section>`;
}
