import { app, move } from '../app.js';
import { capital, compact, counted, money, number } from '../format.js';
import { html } from '../lib/preact.js';
import { Button, Choice, DateRange, Empty, Failure } from '../parts/controls.js';
import { save } from '../parts/exports.js';
import { useAttempt, useRequest } from '../parts/request-hooks.js';
import { Bars } from './bars.js';
import { Table } from './table.js';

const GROUPS = ['key', 'team', 'model', 'tag', 'day'];
/** The values that bars can show. */
const METRICS = {
  requests: (row) => row.requests,
  errors: (row) => row.errors,
  tokens: (row) => row.input_tokens + row.output_tokens,
  cost: (row) => row.cost,
};
const DAY_MS = 86_400_000;
const DAYS = 30;
/** How many rows are drawn; the CSV has all. */
const MAX_ROWS = 500;

const dayOf = (ms) => new Date(ms).toISOString().slice(0, 10);

/** Usage: bars by day, and a table by any groups. The query is in the address. */
export function Usage({ place }) {
  const { client } = app.value;
  const to = dayIn(place.to) ?? dayOf(Date.now());
  const from = dayIn(place.from) ?? dayOf(Date.parse(to) - (DAYS - 1) * DAY_MS);
  const named = (place.by ?? 'model').split(',').filter((name) => GROUPS.includes(name));
  const groups = named.length > 0 ? named : ['model'];
  const metric = Object.hasOwn(METRICS, place.show) ? place.show : 'requests';
  const query = { from, to, group_by: groups.join(',') };
  const load = async () => {
    const requests = [query, { ...query, group_by: 'day' }].map((each) => client.read('admin/usage', each));
    const [byGroup, byDay] = await Promise.all(requests);
    return { groups, byGroup, byDay };
  };
  const { found, error, read } = useRequest(load, [from, to, query.group_by]);
  const { attempt, error: refusal } = useAttempt();
  const csv = () => attempt(async () => save({ name: `usage-${from}-${to}.csv`, blob: await client.usageCsv(query) }));
  const toggle = (name) => {
    const next = groups.includes(name) ? groups.filter((other) => other !== name) : [...groups, name];
    move({ by: next.join(',') });
  };
  return html`<h2>Usage</h2>
    <form class="list-tools" onSubmit=${(event) => event.preventDefault()}>
      <${DateRange} from=${from} to=${to} onMove=${move} />
      <fieldset class="choices"><legend class="inline">By</legend>
        ${GROUPS.map((name) => html`<label class="check" key=${name}><input type="checkbox" checked=${groups.includes(name)} onChange=${() => toggle(name)} /> ${name}</label>`)}
      </fieldset>
      <${Button} icon="save" onClick=${csv}>CSV<//>
    </form>
    <${Failure} error=${error} onRetry=${read} />
    <${Failure} error=${refusal} />
    ${found && html`<${Found} ...${found} metric=${metric} />`}`;
}

function dayIn(text) {
  return /^\d{4}-\d\d-\d\d$/.test(text) && !Number.isNaN(Date.parse(text)) ? text : undefined;
}

function Found({ groups, byGroup, byDay, metric }) {
  const { data, currency, from, to } = byGroup;
  if (data.length === 0) return html`<${Empty} title="No usage">No call ended from ${from} to ${to}.<//>`;
  const value = METRICS[metric];
  const format = (amount) => (metric === 'cost' ? money({ total: amount, currency }) : number(amount));
  const known = new Map(byDay.data.map((row) => [row.day, row]));
  const bars = daysFrom(from, to).map((day) => {
    const amount = known.has(day) ? value(known.get(day)) : 0;
    return { name: day, value: amount, about: `${day}: ${format(amount)}` };
  });
  const total = byDay.data.reduce((sum, row) => sum + value(row), 0);
  const max = Math.max(...bars.map((bar) => bar.value));
  return html`<figure class="usage">
      <figcaption>
        <${Choice} label="By day" value=${metric} options=${Object.keys(METRICS)} onChoose=${(show) => move({ show })} />
        <span><strong>${format(total)}</strong> in total, ${format(max)} on the busiest day</span>
      </figcaption>
      <${Bars} bars=${bars} label=${`${capital(metric)} by day from ${from} to ${to}, ${format(max)} at most`} />
      <p class="bars-ends" aria-hidden="true"><span>${from}</span><span>${to}</span></p>
    </figure>
    <${Rows} groups=${groups} data=${data} currency=${currency} />`;
}

function Rows({ groups, data, currency }) {
  const columns = [...groups.map(capital), 'Requests', 'Errors', 'Cost', 'Input tokens', 'Cached', 'Output tokens'];
  const rows = data
    .slice(0, MAX_ROWS)
    .map((row) => [
      ...groups.map((group) => (row[group] === '' ? 'none' : String(row[group] ?? ''))),
      number(row.requests),
      number(row.errors),
      money({ total: row.cost, currency }),
      compact(row.input_tokens),
      compact(row.cached_tokens),
      compact(row.output_tokens),
    ]);
  return html`<${Table} label="Usage" columns=${columns} rows=${rows} numbers=${groups.length} />
    ${data.length > MAX_ROWS && html`<p class="quiet">The CSV has ${counted(data.length - MAX_ROWS, 'more row')}.</p>`}`;
}

function daysFrom(from, to) {
  const days = Math.round((Date.parse(to) - Date.parse(from)) / DAY_MS) + 1;
  return Array.from({ length: Math.max(1, days) }, (_, at) => dayOf(Date.parse(from) + at * DAY_MS));
}
