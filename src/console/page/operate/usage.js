import { app, move } from '../app.js';
import { capital, compact, money, number } from '../format.js';
import { html } from '../lib/preact.js';
import { useAnswer, useAttempt } from '../parts/asking.js';
import { Button, Choice, Days, Empty, Failure } from '../parts/controls.js';
import { save } from '../parts/exports.js';
import { Bars } from './bars.js';
import { Table } from './table.js';

const GROUPS = ['key', 'team', 'model', 'tag', 'day'];
/** What bars stand for, of a row. */
const SHOWN = {
  requests: (row) => row.requests,
  errors: (row) => row.errors,
  tokens: (row) => row.input_tokens + row.output_tokens,
  cost: (row) => row.cost,
};
const DAY_MS = 86_400_000;
const DAYS = 30;
/** Rows that are drawn; the CSV has all of them. */
const MOST_ROWS = 500;

const dayOf = (ms) => new Date(ms).toISOString().slice(0, 10);

/** What was used: bars by day, and a table by any groups. What is asked for stands in the address. */
export function Usage({ place }) {
  const { client } = app.value;
  const to = dayIn(place.to) ?? dayOf(Date.now());
  const from = dayIn(place.from) ?? dayOf(Date.parse(to) - (DAYS - 1) * DAY_MS);
  const asked = (place.by ?? 'model').split(',').filter((name) => GROUPS.includes(name));
  const groups = asked.length > 0 ? asked : ['model'];
  const shows = Object.hasOwn(SHOWN, place.show) ? place.show : 'requests';
  const query = { from, to, group_by: groups.join(',') };
  const ask = async () => {
    const asked = [query, { ...query, group_by: 'day' }].map((each) => client.read('admin/usage', each));
    const [byGroup, byDay] = await Promise.all(asked);
    return { groups, byGroup, byDay };
  };
  const { found, error, read } = useAnswer(ask, [from, to, query.group_by]);
  const { attempt, error: refusal } = useAttempt();
  const csv = () => attempt(async () => save({ name: `usage-${from}-${to}.csv`, blob: await client.usageCsv(query) }));
  const toggle = (name) => {
    const next = groups.includes(name) ? groups.filter((other) => other !== name) : [...groups, name];
    move({ by: next.join(',') });
  };
  return html`<h2>Usage</h2>
    <form class="list-tools" onSubmit=${(event) => event.preventDefault()}>
      <${Days} from=${from} to=${to} onMove=${move} />
      <fieldset class="choices"><legend class="inline">By</legend>
        ${GROUPS.map((name) => html`<label class="check" key=${name}><input type="checkbox" checked=${groups.includes(name)} onChange=${() => toggle(name)} /> ${name}</label>`)}
      </fieldset>
      <${Button} icon="save" onClick=${csv}>CSV<//>
    </form>
    <${Failure} error=${error} onRetry=${read} />
    <${Failure} error=${refusal} />
    ${found && html`<${Found} ...${found} shows=${shows} />`}`;
}

function dayIn(text) {
  return /^\d{4}-\d\d-\d\d$/.test(text) && !Number.isNaN(Date.parse(text)) ? text : undefined;
}

function Found({ groups, byGroup, byDay, shows }) {
  const { data, currency, from, to } = byGroup;
  if (data.length === 0) return html`<${Empty} title="Nothing was used">From ${from} to ${to} no call ended.<//>`;
  const value = SHOWN[shows];
  const say = (amount) => (shows === 'cost' ? money({ total: amount, currency }) : number(amount));
  const known = new Map(byDay.data.map((row) => [row.day, row]));
  const bars = daysFrom(from, to).map((day) => {
    const amount = known.has(day) ? value(known.get(day)) : 0;
    return { name: day, value: amount, about: `${day}: ${say(amount)}` };
  });
  const total = byDay.data.reduce((sum, row) => sum + value(row), 0);
  const most = Math.max(...bars.map((bar) => bar.value));
  return html`<figure class="usage">
      <figcaption>
        <${Choice} label="By day" value=${shows} options=${Object.keys(SHOWN)} onChoose=${(show) => move({ show })} />
        <span><strong>${say(total)}</strong> in all, ${say(most)} on the busiest day</span>
      </figcaption>
      <${Bars} bars=${bars} label=${`${capital(shows)} by day from ${from} to ${to}, ${say(most)} at most`} />
      <p class="bars-ends" aria-hidden="true"><span>${from}</span><span>${to}</span></p>
    </figure>
    <${Rows} groups=${groups} data=${data} currency=${currency} />`;
}

function Rows({ groups, data, currency }) {
  const columns = [...groups.map(capital), 'Requests', 'Errors', 'Cost', 'Input tokens', 'Cached', 'Output tokens'];
  const rows = data
    .slice(0, MOST_ROWS)
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
    ${data.length > MOST_ROWS && html`<p class="quiet">${number(data.length - MOST_ROWS)} more rows are in the CSV.</p>`}`;
}

function daysFrom(from, to) {
  const days = Math.round((Date.parse(to) - Date.parse(from)) / DAY_MS) + 1;
  return Array.from({ length: Math.max(1, days) }, (_, at) => dayOf(Date.parse(from) + at * DAY_MS));
}
