import { app } from '../app.js';
import { toTheSecond } from '../format.js';
import { html, useEffect, useState } from '../lib/preact.js';
import { Button, Empty, Failure } from '../parts/controls.js';
import { Table } from './table.js';

const PAGE = 100;

/** Who changed what, and who was refused, newest first. */
export function Audit() {
  const { client } = app.value;
  const [list, setList] = useState({ records: undefined, hasMore: false });
  const [error, setError] = useState(null);
  const read = async (records) => {
    setError(null);
    try {
      const { data, has_more: hasMore } = await client.audit({ limit: PAGE, after: records.at(-1)?.id });
      setList({ records: [...records, ...data], hasMore });
    } catch (thrown) {
      setError(thrown);
    }
  };
  useEffect(() => void read([]), []);
  const { records, hasMore } = list;
  const rows = (records ?? []).map(({ time, action, target = '', by = '', address = '', detail = '' }) => [
    html`<time>${toTheSecond(time * 1000)}</time>`,
    action,
    target,
    by,
    address,
    detail,
  ]);
  return html`<h2>Audit</h2>
    <${Failure} error=${error} onRetry=${() => read([])} />
    ${records?.length === 0 && html`<${Empty} title="Nothing was changed yet" />`}
    ${rows.length > 0 && html`<${Table} label="Audit" columns=${['When', 'What', 'Of', 'By', 'From', 'Detail']} rows=${rows} />`}
    ${hasMore && html`<p class="more"><${Button} onClick=${() => read(records)}>Older<//></p>`}`;
}
