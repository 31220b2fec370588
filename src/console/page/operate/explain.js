import { app } from '../app.js';
import { number } from '../format.js';
import { html, useEffect, useState } from '../lib/preact.js';
import { Failure } from '../parts/controls.js';
import { Table } from './table.js';

/** What a key gets when it asks for a model: whether it may, by which routes, with whose credential. */
export function Explain({ of: key }) {
  const { client, models } = app.value;
  const [model, setModel] = useState('');
  const [found, setFound] = useState(null);
  const [error, setError] = useState(null);
  useEffect(() => {
    setFound(null);
    setError(null);
    if (model === '') return;
    let left = false;
    client.explainKey(key.id, model).then(
      (explained) => !left && setFound(explained),
      (thrown) => !left && setError(thrown),
    );
    return () => {
      left = true;
    };
  }, [model, key]);
  return html`<div class="explain">
    <label class="inline">What it gets of <select value=${model} onChange=${(event) => setModel(event.currentTarget.value)}>
      <option value="">choose a model</option>
      ${models.map(({ id }) => html`<option value=${id} key=${id}>${id}</option>`)}
    </select></label>
    <${Failure} error=${error} />
    ${found && html`<${Explained} of=${found} />`}
  </div>`;
}

function Explained({ of }) {
  const {
    allowed,
    apis,
    routes,
    routes_of: whose,
    tools,
    may,
    webhook,
    expires_at: expires,
    allow_from: networks,
    limits,
  } = of;
  return html`<div role="status">
    <p class="run-about"><span class="status" data-status=${allowed ? 'completed' : 'failed'}>${allowed ? 'may be used' : 'may not be used'}</span>
      <span>answers ${apis.join(', ')}</span></p>
    <${Table} label="Routes" columns=${['Order', 'Provider', 'Model', 'Where', 'Credential', 'Price']} rows=${routes.map(
      (route, at) => [
        number(at + 1),
        route.provider,
        route.model,
        route.url ?? 'built in',
        route.credential,
        route.price ? `${route.price.input} in, ${route.price.output} out a million tokens` : 'none',
      ],
    )} />
    <p class="quiet">Routes of the ${whose}, in the order in which they are asked.</p>
    ${tools && html`<p dir="auto">Tools: ${tools.join(', ') || 'none'}</p>`}
    ${limits.length > 0 && html`<p>Limits: ${limits.map(({ name, value }) => `${name} ${value}`).join(', ')}</p>`}
    ${expires && html`<p>It is refused from ${expires} on.</p>`}
    ${networks && html`<p>It may be used from ${networks.join(', ')} alone.</p>`}
    ${may.length > 0 && html`<p dir="auto">It may also ${may.join(', ')}.</p>`}
    ${webhook && html`<p dir="auto">The end of its background work is told to ${webhook}.</p>`}
  </div>`;
}
