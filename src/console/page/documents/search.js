import { app } from '../app.js';
import { html, useState } from '../lib/preact.js';
import { Failure, WideField } from '../parts/controls.js';
import { useRequest } from '../parts/request-hooks.js';

/** Finds passages of a collection. */
export function Search({ id }) {
  const { client } = app.value;
  const [query, setQuery] = useState('');
  const [asked, setAsked] = useState(null);
  const load = async () => asked && (await client.collections.act(id, 'search', { query: asked.query })).data;
  const { found, error } = useRequest(load, [asked]);
  const search = (event) => {
    event.preventDefault();
    setAsked({ query });
  };
  return html`<section>
    <form class="list-tools" role="search" onSubmit=${search}>
      <${WideField} type="search" label="Search these documents" maxlength="1000" value=${query} onText=${setQuery} />
      <button type="submit" class="button" disabled=${query.trim() === ''}><span>Search</span></button>
    </form>
    <${Failure} error=${error} />
    ${found?.length === 0 && html`<p class="quiet" role="status">Nothing found.</p>`}
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
