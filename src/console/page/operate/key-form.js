import { html, useEffect, useRef, useState } from '../lib/preact.js';
import { Button, Failure } from '../parts/controls.js';

const LIMITS = [
  'requests_per_minute',
  'concurrent_runs',
  'tokens_per_minute',
  'tokens_per_day',
  'cost_per_day',
  'cost_per_month',
];

/** A key to make, or one to change: then only what is another is sent. */
export function KeyForm({ of: key, onSubmit, onCancel }) {
  const [fields, setFields] = useState(() => fieldsOf(key ?? {}));
  const [error, setError] = useState(null);
  const [busy, setBusy] = useState(false);
  const form = useRef(null);
  useEffect(() => form.current.querySelector('input').focus(), []);
  const typed = (name) => (event) => setFields({ ...fields, [name]: event.currentTarget.value });
  const checked = (name) => (event) => setFields({ ...fields, [name]: event.currentTarget.checked });
  const text = (name, label, placeholder) =>
    html`<label class="field">${label} <input dir="auto" autocomplete="off" spellcheck="false" placeholder=${placeholder} value=${fields[name]} onInput=${typed(name)} /></label>`;
  const submit = async (event) => {
    event.preventDefault();
    setBusy(true);
    setError(null);
    try {
      const wrong = form.current.querySelector('input:invalid');
      if (wrong?.validity.badInput) throw new Error(`${wrong.labels[0].textContent.trim()}: this cannot be read.`);
      await onSubmit(key ? changesOf(fieldsOf(key), fields) : newKeyOf(fields));
    } catch (thrown) {
      setError(thrown);
    }
    setBusy(false);
  };
  return html`<form class="key-form" noValidate ref=${form} aria-label=${key ? `Change ${key.id}` : 'New key'} onSubmit=${submit}>
    <div class="options-grid">
      ${!key && text('id', 'Id', 'the gateway’s choice')}
      ${text('user', 'User', 'the id')}
      ${text('team', 'Team', 'none')}
      ${text('models', 'Models', 'all')}
      ${text('tags', 'Tags', 'none')}
      ${text('allow_from', 'Networks', 'all, or such as 10.1.2.0/24')}
      <label class="field">Expires <input type="date" value=${fields.expires_at} onInput=${typed('expires_at')} /></label>
      <fieldset class="wide limits-fields"><legend>Limits</legend>
        ${LIMITS.map((name) => html`<label class="field" key=${name}>${sayLimit(name)} <input type="number" min="0" step="any" placeholder="none" value=${fields[name]} onInput=${typed(name)} /></label>`)}
      </fieldset>
      <fieldset class="wide choices"><legend>May</legend>
        <label class="check"><input type="checkbox" checked=${fields.admin} onChange=${checked('admin')} /> operate the gateway</label>
        <label class="check"><input type="checkbox" checked=${fields.mcp_servers} onChange=${checked('mcp_servers')} /> bring MCP servers</label>
      </fieldset>
    </div>
    <${Failure} error=${error} />
    <div class="actions">
      <button type="submit" class="button primary" disabled=${busy}><span>${key ? 'Save' : 'Make the key'}</span></button>
      <${Button} onClick=${onCancel}>Cancel<//>
    </div>
  </form>`;
}

export function sayLimit(name) {
  const words = name.replaceAll('_', ' ');
  return words[0].toUpperCase() + words.slice(1);
}

/** A key's settings as they stand in fields. */
function fieldsOf({ user, team, models, tags, allow_from: networks, expires_at: expires, limits = {}, ...key }) {
  return {
    id: '',
    user: user ?? '',
    team: team ?? '',
    models: listed(models),
    tags: listed(tags),
    allow_from: listed(networks),
    expires_at: expires === undefined ? '' : String(expires).slice(0, 10),
    ...Object.fromEntries(LIMITS.map((name) => [name, String(limits[name] ?? '')])),
    admin: key.admin === true,
    mcp_servers: key.mcp_servers === true,
  };
}

const listed = (values = []) => values.join(', ');

/** What fields say, null where they are empty: a setting goes back to its default. */
function settingsOf(fields) {
  const text = (name) => fields[name].trim() || null;
  const list = (name) => {
    const values = fields[name].split(/[\s,]+/).filter(Boolean);
    return values.length > 0 ? values : null;
  };
  const limits = LIMITS.filter((name) => fields[name] !== '').map((name) => [name, Number(fields[name])]);
  return {
    user: text('user'),
    team: text('team'),
    models: list('models'),
    tags: list('tags'),
    allow_from: list('allow_from'),
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
