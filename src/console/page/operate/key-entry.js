import { app } from '../app.js';
import { exactly } from '../format.js';
import { html, useEffect, useState } from '../lib/preact.js';
import { Button, ConfirmButton, Failure } from '../parts/controls.js';
import { Icon } from '../parts/icons.js';
import { Explain } from './explain.js';
import { KeyForm } from './key-form.js';
import { Limits } from './limits.js';

/** How long the secret of before is taken, too, in seconds. */
const OVERLAPS = [
  { seconds: 0, label: 'ends at once' },
  { seconds: 3600, label: 'is taken for an hour' },
  { seconds: 86_400, label: 'is taken for a day' },
  { seconds: 7 * 86_400, label: 'is taken for a week' },
  { seconds: 30 * 86_400, label: 'is taken for 30 days' },
];

/** One key: what it is in a line, and opened what it used and what can be done with it. */
export function KeyEntry({ of: key, open, onToggle, onChanged, onRotate, onRevoke }) {
  const { id, user, team, source } = key;
  const about = [
    user && user !== id && `user ${user}`,
    team && `team ${team}`,
    key.models ? `${key.models.length} models` : 'all models',
    key.admin && 'operates',
    key.mcp_servers && 'MCP',
    key.expires_at && `until ${String(key.expires_at).slice(0, 10)}`,
  ].filter(Boolean);
  return html`<li class="key">
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
  const [used, setUsed] = useState(undefined);
  const [changing, setChanging] = useState(false);
  const [overlap, setOverlap] = useState(OVERLAPS[1].seconds);
  const [error, setError] = useState(null);
  useEffect(() => {
    let left = false;
    client.key(key.id).then(
      (found) => !left && setUsed(found.used),
      (thrown) => !left && setError(thrown),
    );
    return () => {
      left = true;
    };
  }, [key]);
  const attempt = (work) => async () => {
    setError(null);
    await work().catch(setError);
  };
  const change = async (changes) => {
    if (Object.keys(changes).length > 0) onChanged(await client.updateKey(key.id, changes));
    setChanging(false);
  };
  return html`<div class="key-details">
    <${Failure} error=${error} />
    ${used?.length === 0 && html`<p class="quiet">It has no limits.</p>`}
    ${used?.length > 0 && html`<${Limits} limits=${used} />`}
    <p class="run-about">
      ${key.created_at && html`<span>made ${exactly(key.created_at * 1000)}</span>`}
      ${key.rotated_until && html`<span>the secret of before is taken until ${exactly(key.rotated_until * 1000)}</span>`}
      ${key.models && html`<span dir="auto">may use ${key.models.join(', ')}</span>`}
      ${key.allow_from && html`<span dir="auto">from ${key.allow_from.join(', ')}</span>`}
      ${key.tags?.length > 0 && html`<span dir="auto">tagged ${key.tags.join(', ')}</span>`}
    </p>
    <${Explain} of=${key} />
    ${key.source === 'file' && html`<p class="quiet">It stands in the configuration file: change it there.</p>`}
    ${key.source === 'store' && changing && html`<${KeyForm} of=${key} onSubmit=${change} onCancel=${() => setChanging(false)} />`}
    ${
      key.source === 'store' &&
      !changing &&
      html`<div class="actions">
        <${Button} icon="pen" onClick=${() => setChanging(true)}>Change<//>
        <span class="rotate">
          <${Button} icon="replay" onClick=${attempt(() => onRotate(key.id, overlap))}>Rotate<//>
          <label class="inline">The old secret <select value=${String(overlap)} onChange=${(event) => setOverlap(Number(event.currentTarget.value))}>
            ${OVERLAPS.map(({ seconds, label }) => html`<option value=${String(seconds)} key=${seconds}>${label}</option>`)}
          </select></label>
        </span>
        <${ConfirmButton} icon="trash" question="Revoke it for good?" onConfirm=${attempt(() => onRevoke(key.id))}>Revoke<//>
      </div>`
    }
  </div>`;
}
