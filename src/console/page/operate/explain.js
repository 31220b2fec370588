import { app } from '../app.js';
import { number } from '../format.js';
import { html, useState } from '../lib/preact.js';
import { Choice, Failure } from '../parts/controls.js';
import { useRequest } from '../parts/request-hooks.js';
import { Table } from './table.js';

/** A key's access to a model: whether it is allowed, by which routes, with whose credential. */
export function Explain({ of: key }) {
  const { models } = app.value;
  const [model, setModel] = useState('');
  return html`<div class="explain">
    <${Choice} label="Access to" value=${model} options=${[['', 'choose a model'], ...models.map(({ id }) => id)]} onChoose=${setModel} />
    ${model !== '' && html`<${Explained} key=${model} model=${model} of=${key} />`}
  </div>`;
}

function Explained({ model, of: key }) {
  const { found, error } = useRequest(() => app.value.client.keys.part(key.id, 'explain', { model }), [key]);
  if (error || !found) return html`<${Failure} error=${error} />`;
  const { allowed, apis, routes, tools, may, webhook, limits } = found;
  const { routes_of: whose, expires_at: expires, allow_from: networks } = found;
  return html`<div role="status">
    <p class="run-about"><span class="status" data-status=${allowed ? 'completed' : 'failed'}>${allowed ? 'allowed' : 'not allowed'}</span>
      <span>APIs: ${apis.join(', ')}</span></p>
    <${Table} label="Routes" columns=${['Order', 'Provider', 'Model', 'Where', 'Credential', 'Price']} rows=${routes.map(
      (route, at) => [
        number(at + 1),
        route.provider,
        route.model,
        route.url ?? 'built in',
        route.credential,
        route.price ? `${route.price.input} in, ${route.price.output} out per million tokens` : 'none',
      ],
    )} />
    <p class="quiet">Routes of the ${whose}, in the order in which they are tried.</p>
    ${tools && html`<p dir="auto">Tools: ${tools.join(', ') || 'none'}</p>`}
    ${limits.length > 0 && html`<p>Limits: ${limits.map(({ name, value }) => `${name} ${value}`).join(', ')}</p>`}
    ${expires && html`<p>Expires ${expires}.</p>`}
    ${networks && html`<p>Only from ${networks.join(', ')}.</p>`}
    ${may.length > 0 && html`<p dir="auto">It may also ${may.join(', ')}.</p>`}
    ${webhook && html`<p dir="auto">Webhook for background work: ${webhook}.</p>`}
  </div>`;
}
