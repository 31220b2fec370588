import { app } from '../app.js';
import { toTheSecond } from '../format.js';
import { html } from '../lib/preact.js';
import { Button, Empty, Failure } from '../parts/controls.js';
import { usePages } from '../parts/request-hooks.js';
import { Table } from './table.js';

/** Who changed what, and who was refused, newest first. */
export function Audit() {
  const { client } = app.value;
  const { entries: records, error, read, older } = usePages((page) => client.read('admin/audit', page));
  const rows = (records ?? []).map(({ time, action, target = '', by = '', address = '', detail = '' }) => [
    html`<time>${toTheSecond(time * 1000)}</time>`,
    action,
    target,
    by,
    address,
    detail,
  ]);
  return html`<h2>Audit</h2>
    <${Failure} error=${error} onRetry=${read} />
    ${records?.length === 0 && html`<${Empty} title="No changes yet" />`}
    ${rows.length > 0 && html`<${Table} label="Audit" columns=${['Time', 'Action', 'Target', 'By', 'Address', 'Detail']} rows=${rows} />`}
    ${older && html`<p class="more"><${Button} onClick=${older}>Load older<//></p>`}`;
}
