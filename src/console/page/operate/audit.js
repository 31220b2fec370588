import { app } from '../app.js';
import { toTheSecond } from '../format.js';
import { html } from '../lib/preact.js';
import { usePages } from '../parts/asking.js';
import { Button, Empty, Failure } from '../parts/controls.js';
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
    ${records?.length === 0 && html`<${Empty} title="Nothing was changed yet" />`}
    ${rows.length > 0 && html`<${Table} label="Audit" columns=${['When', 'What', 'Of', 'By', 'From', 'Detail']} rows=${rows} />`}
    ${older && html`<p class="more"><${Button} onClick=${older}>Older<//></p>`}`;
}
