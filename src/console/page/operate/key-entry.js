import { app } from '../app.js';
import { counted, exactly } from '../format.js';
import { html, useState } from '../lib/preact.js';
import { Button, Choice, ConfirmButton, Failure } from '../parts/controls.js';
import { Icon } from '../parts/icons.js';
import { useAttempt, useRequest } from '../parts/request-hooks.js';
import { Explain } from './explain.js';
import { KeyForm } from './key-form.js';
import { Limits } from './limits.js';

/** How long the old secret still works, in seconds. */
const OVERLAPS = [
  ['0', 'stops working at once'],
  ['3600', 'works for an hour'],
  ['86400', 'works for a day'],
  ['604800', 'works for a week'],
  ['2592000', 'works for 30 days'],
];

/** One key in a line; opened, with its use of limits and its actions. */
export function KeyEntry({ of: key, open, onToggle, onChanged, onRotate, onRevoke }) {
  const { id, user, team, source } = key;
  const about = [
    user && user !== id && `user ${user}`,
    team && `team ${team}`,
    key.models ? counted(key.models.length, 'model') : 'all models',
    key.admin && 'admin',
    key.mcp_servers && 'MCP',
    key.expires_at && `until ${String(key.expires_at).slice(0, 10)}`,
  ].filter(Boolean);
  return html`<li>
    <h3><button type="button" class="key-head" aria-expanded=${String(open)} onClick=${onToggle}>
      <span class="key-id" dir="auto">${id}</span>
      <span class="mark">${source === 'file' ? 'in the file' : 'in the store'}</span>
      <span class="key-about" dir="auto">${about.join(', ')}</span>
      <${Icon} name="down" />
    </button></h3>
    ${open && html`<${KeyDetails} of=${key} onChanged=${onChanged} onRotate=${onRotate} onRevoke=${onRevoke} />`}
  </li>`;
}

function KeyDetails({ of: key, onChanged, onRotate, onRevoke }) {
  const { client } = app.value;
  const { found, error } = useRequest(() => client.keys.get(key.id), [key]);
  const used = found?.used;
  const [changing, setChanging] = useState(false);
  const [overlap, setOverlap] = useState('3600');
  const { attempt, error: refusal } = useAttempt();
  const change = async (changes) => {
    if (Object.keys(changes).length > 0) onChanged(await client.keys.change(key.id, changes));
    setChanging(false);
  };
  return html`<div class="key-details">
    <${Failure} error=${refusal ?? error} />
    ${used?.length === 0 && html`<p class="quiet">No limits.</p>`}
    ${used?.length > 0 && html`<${Limits} limits=${used} />`}
    <p class="run-about">
      ${key.created_at && html`<span>created ${exactly(key.created_at * 1000)}</span>`}
      ${key.rotated_until && html`<span>the old secret works until ${exactly(key.rotated_until * 1000)}</span>`}
      ${key.models && html`<span dir="auto">may use ${key.models.join(', ')}</span>`}
      ${key.allow_from && html`<span dir="auto">from ${key.allow_from.join(', ')}</span>`}
      ${key.tags?.length > 0 && html`<span dir="auto">tagged ${key.tags.join(', ')}</span>`}
    </p>
    <${Explain} of=${key} />
    ${key.source === 'file' && html`<p class="quiet">This key is in the configuration file: change it there.</p>`}
    ${key.source === 'store' && changing && html`<${KeyForm} of=${key} onSubmit=${change} onCancel=${() => setChanging(false)} />`}
    ${
      key.source === 'store' &&
      !changing &&
      html`<div class="actions">
        <${Button} icon="pen" onClick=${() => setChanging(true)}>Change<//>
        <span class="rotate">
          <${Button} icon="replay" onClick=${() => attempt(() => onRotate(key.id, Number(overlap)))}>Rotate<//>
          <${Choice} label="The old secret" value=${overlap} options=${OVERLAPS} onChoose=${setOverlap} />
        </span>
        <${ConfirmButton} icon="trash" question="Revoke permanently?" onConfirm=${() => attempt(() => onRevoke(key.id))}>Revoke<//>
      </div>`
    }
  </div>`;
}
