import { capital } from '../format.js';
import { html, useEffect, useRef, useState } from '../lib/preact.js';
import { Button, Failure } from '../parts/controls.js';
import { useAttempt } from '../parts/request-hooks.js';

/** Settings with one value, and with several: label, and what an empty field means. */
const TEXTS = { user: ['User', 'the id'], team: ['Team', 'none'] };
const LISTS = {
  models: ['Models', 'all'],
  tags: ['Tags', 'none'],
  allow_from: ['Networks', 'all, or for example 10.1.2.0/24'],
};
const LIMITS = [
  'requests_per_minute',
  'concurrent_runs',
  'tokens_per_minute',
  'tokens_per_day',
  'cost_per_day',
  'cost_per_month',
];

/** The form for a new key, or to change one. A change sends only the fields that differ. */
export function KeyForm({ of: key, onSubmit, onCancel }) {
  const [fields, setFields] = useState(() => fieldsOf(key ?? {}));
  const { attempt, busy, error } = useAttempt();
  const form = useRef(null);
  useEffect(() => form.current.querySelector('input').focus(), []);
  const typed = (name) => (event) => setFields({ ...fields, [name]: event.currentTarget.value });
  const checked = (name) => (event) => setFields({ ...fields, [name]: event.currentTarget.checked });
  const text = (name, label, placeholder) =>
    html`<label class="field">${label} <input dir="auto" autocomplete="off" spellcheck="false" placeholder=${placeholder} value=${fields[name]} onInput=${typed(name)} /></label>`;
  const send = async () => {
    const wrong = form.current.querySelector('input:invalid');
    if (wrong?.validity.badInput) throw new Error(`${wrong.labels[0].textContent.trim()}: not a valid value.`);
    await onSubmit(key ? changesOf(fieldsOf(key), fields) : newKeyOf(fields));
  };
  const submit = (event) => {
    event.preventDefault();
    void attempt(send);
  };
  return html`<form class="key-form" noValidate ref=${form} aria-label=${key ? `Change ${key.id}` : 'New key'} onSubmit=${submit}>
    <div class="options-grid">
      ${!key && text('id', 'Id', 'chosen by the gateway')}
      ${Object.entries({ ...TEXTS, ...LISTS }).map(([name, words]) => text(name, ...words))}
      <label class="field">Expires <input type="date" value=${fields.expires_at} onInput=${typed('expires_at')} /></label>
      <fieldset class="wide limits-fields"><legend>Limits</legend>
        ${LIMITS.map((name) => html`<label class="field" key=${name}>${capital(name.replaceAll('_', ' '))} <input type="number" min="0" step="any" placeholder="none" value=${fields[name]} onInput=${typed(name)} /></label>`)}
      </fieldset>
      <fieldset class="wide choices"><legend>Permissions</legend>
        <label class="check"><input type="checkbox" checked=${fields.admin} onChange=${checked('admin')} /> Operate the gateway</label>
        <label class="check"><input type="checkbox" checked=${fields.mcp_servers} onChange=${checked('mcp_servers')} /> Bring MCP servers</label>
      </fieldset>
    </div>
    <${Failure} error=${error} />
    <div class="actions">
      <button type="submit" class="button primary" disabled=${busy}><span>${key ? 'Save' : 'Create key'}</span></button>
      <${Button} onClick=${onCancel}>Cancel<//>
    </div>
  </form>`;
}

/** A key's settings as the texts of the fields. */
function fieldsOf({ limits = {}, ...key }) {
  return {
    id: '',
    ...each(TEXTS, (name) => key[name] ?? ''),
    ...each(LISTS, (name) => (key[name] ?? []).join(', ')),
    expires_at: String(key.expires_at ?? '').slice(0, 10),
    ...Object.fromEntries(LIMITS.map((name) => [name, String(limits[name] ?? '')])),
    admin: key.admin === true,
    mcp_servers: key.mcp_servers === true,
  };
}

const each = (names, read) => Object.fromEntries(Object.keys(names).map((name) => [name, read(name)]));

/** The settings in the fields. An empty field is null, which resets a setting to its default. */
function settingsOf(fields) {
  const list = (name) => {
    const values = fields[name].split(/[\s,]+/).filter(Boolean);
    return values.length > 0 ? values : null;
  };
  const limits = LIMITS.filter((name) => fields[name] !== '').map((name) => [name, Number(fields[name])]);
  return {
    ...each(TEXTS, (name) => fields[name].trim() || null),
    ...each(LISTS, list),
    expires_at: fields.expires_at === '' ? null : `${fields.expires_at}T00:00:00Z`,
    limits: limits.length > 0 ? Object.fromEntries(limits) : null,
    admin: fields.admin,
    mcp_servers: fields.mcp_servers,
  };
}

function newKeyOf(fields) {
  const id = fields.id.trim();
  const settings = Object.entries(settingsOf(fields)).filter(([, value]) => value !== null && value !== false);
  return { ...(id !== '' && { id }), ...Object.fromEntries(settings) };
}

function changesOf(before, after) {
  const [old, now] = [settingsOf(before), settingsOf(after)];
  return Object.fromEntries(
    Object.entries(now).filter(([name, value]) => JSON.stringify(value) !== JSON.stringify(old[name])),
  );
}
