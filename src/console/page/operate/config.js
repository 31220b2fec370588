import { app } from '../app.js';
import { html } from '../lib/preact.js';
import { Button, Failure } from '../parts/controls.js';
import { useRequest } from '../parts/request-hooks.js';

/** Sections that are open at first. */
const OPEN = new Set(['models', 'providers', 'runs', 'server']);

/** The configuration in force, with secrets masked. */
export function Config() {
  const { client } = app.value;
  const { found, error, read } = useRequest(() => client.read('admin/config'), []);
  const config = found?.config;
  return html`<div class="list-head"><h2>Configuration</h2><${Button} icon="replay" onClick=${read}>Reload<//></div>
    <p class="quiet">As it is in force now, with its defaults; times in milliseconds, sizes in bytes if the name says so. Secrets, and texts that may be secrets, are ***.</p>
    <${Failure} error=${error} onRetry=${read} />
    ${config && html`<div class="config">${Object.entries(config).map(([name, value]) => html`<details key=${name} open=${OPEN.has(name)}><summary>${name}</summary><${Setting} value=${value} /></details>`)}</div>`}`;
}

function Setting({ value }) {
  if (value === null || typeof value !== 'object') {
    return html`<span class="config-value" dir="auto" data-masked=${value === '***'}>${String(value)}</span>`;
  }
  const entries = Object.entries(value);
  if (entries.length === 0) return html`<span class="quiet">none</span>`;
  if (Array.isArray(value) && value.every((each) => typeof each !== 'object')) {
    return html`<span class="config-value" dir="auto">${value.map(String).join(', ')}</span>`;
  }
  return html`<dl>${entries.map(
    ([name, inner]) =>
      html`<div key=${name}><dt dir="auto">${Array.isArray(value) ? (inner?.id ?? inner?.name ?? Number(name) + 1) : name}</dt><dd><${Setting} value=${inner} /></dd></div>`,
  )}</dl>`;
}
