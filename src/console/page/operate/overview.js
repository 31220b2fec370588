import { app } from '../app.js';
import { compact, counted, duration, exactly, number, when } from '../format.js';
import { html, useRef, useState } from '../lib/preact.js';
import { Failure } from '../parts/controls.js';
import { usePolling } from '../parts/request-hooks.js';
import { Meter } from '../run/meters.js';
import { FirstTokens } from './first-tokens.js';
import { Limits } from './limits.js';
import { gauge, rateBetween } from './metrics.js';
import { Table } from './table.js';

const REFRESH_MS = 3000;
/** With more models than this, budgets are closed at first. */
const FEW_MODELS = 4;

/** Instances, queue, providers, keys and failures; read-only. */
export function Overview() {
  const { overview, error, metrics } = useOverview();
  if (!overview) return html`<${Failure} error=${error} />`;
  const { runs, ready, reasons, instances, providers, keys, budgets, failures } = overview;
  const failed = failuresOfAll(overview);
  const several = instances.length > 1;
  return html`<p class="run-about"><span class="status" data-status=${ready ? 'completed' : 'failed'}>${ready ? 'ready' : 'not ready'}</span>
        ${error ? html`<span class="bad">not updated since ${when(overview.time * 1000)}</span>` : html`<span>live</span>`}</p>
    ${reasons.length > 0 && html`<ul class="notes">${reasons.map((reason) => html`<li key=${reason} data-bad="true"><p>${reason}</p></li>`)}</ul>`}
    <dl class="meters">
      <${Meter} name="Running" value=${number(runs.in_progress)} about=${`of ${number(runs.max_concurrent)} per instance`} />
      <${Meter} name="Waiting" value=${number(runs.queued)} about=${`of ${number(runs.max_queued)}`} />
      <${Meter} name="Streams" value=${number(gauge(metrics.now, 'gateway_sse_streams'))} about="on this instance" />
      <${Meter} name="Requests" value=${`${compact(rateBetween(metrics, 'gateway_http_requests_total'))}/s`} about="on this instance" />
      <${Meter} name="Memory" value=${`${number(Math.round(gauge(metrics.now, 'process_resident_memory_bytes') / 1024 ** 2))} MB`} about="on this instance" />
    </dl>
    <div class="panels">
      <${Panel} title="Instances" count=${instances.length}>
        <${Table} columns=${['Host', 'Process', 'Up', 'Runs', 'Memory']} numbers=${1} rows=${instances.map(
          (instance) => [
            html`${instance.host}${instance.id === overview.instance ? html` <span class="mark">this one</span>` : ''}`,
            instance.pid,
            duration(Math.max(0, overview.time - instance.started_at) * 1000),
            number(instance.executing),
            `${number(instance.memory_mb)} MB`,
          ],
        )} />
      <//>
      <${Panel} title="Providers" count=${providers.length}>
        <${Table} columns=${['Provider', 'State', 'Active', 'Failed', 'p50', 'p95']} numbers=${2} rows=${providers.map(
          (provider) => [
            provider.name,
            html`<${Circuits} provider=${provider} />`,
            number(provider.running),
            provider.recent.attempts === 0
              ? '–'
              : `${number(provider.recent.failed)} of ${number(provider.recent.attempts)}`,
            latency(provider.recent.p50_ms),
            latency(provider.recent.p95_ms),
          ],
        )} />
      <//>
      ${providers.some(({ minutes = [] }) => minutes.length > 0) && html`<${Panel} title="First token" count="by minute"><${FirstTokens} providers=${providers} now=${overview.time} /><//>`}
      <${Panel} title="Keys" count=${keys.length}>
        <${Table} columns=${['Key', 'May', 'Limits']} rows=${keys.map(keyRow)} />
      <//>
      <${Panel} title="Latest failures" count=${failed.reduce((sum, { count }) => sum + count, 0)}>
        ${
          failed.length === 0
            ? html`<p class="quiet">None since ${several ? 'these processes' : 'this process'} started.</p>`
            : html`<${Table} columns=${['Code', 'Where', 'Count', 'Last']} numbers=${2} rows=${failed.map(({ code, where, count, last_at }) => [code, where, number(count), when(last_at * 1000)])} />
              ${
                failures.latest.length > 0 &&
                html`<details><summary>Latest ${failures.latest.length}${several ? ' of the answering process' : ''}</summary>
                <${Table} columns=${['When', 'Where', 'Code', 'Model', 'Key or provider']} rows=${failures.latest.map((failure) => [exactly(failure.at * 1000), failure.where, failure.code + (failure.status ? ` (${failure.status})` : ''), failure.model, failure.key || failure.provider])} />
              </details>`
              }`
        }
      <//>
      ${
        several &&
        html`<${Panel} title="Providers by process" count=${instances.length}>
        <${Table} columns=${['Process', 'Provider', 'Failed', 'p50', 'p95']} numbers=${2} rows=${instances.flatMap(
          (instance) =>
            instance.providers.map((provider) => [
              `${instance.host} ${instance.pid}`,
              provider.name,
              `${number(provider.failed)} of ${number(provider.attempts)}`,
              latency(provider.p50_ms),
              latency(provider.p95_ms),
            ]),
        )} />
      <//>`
      }
      <${Panel} title="Budgets" count=${budgets.length}>
        <${Budgets} budgets=${budgets} />
      <//>
    </div>`;
}

function keyRow({ id, user, models, mcp_servers: mcp, admin, limits }) {
  const may = [models === null ? 'all models' : counted(models.length, 'model'), mcp && 'MCP', admin && 'operate'];
  return [
    user === id ? id : html`<span dir="auto">${id}</span> <span class="quiet" dir="auto">of ${user}</span>`,
    may.filter(Boolean).join(', '),
    limits.length === 0 ? 'none' : html`<${Limits} limits=${limits} />`,
  ];
}

/** What a run may use, by model and effort. */
function Budgets({ budgets }) {
  const cost = budgets.some((budget) => budget.cost !== null);
  const columns = ['Model', 'Effort', 'Turns', 'Calls', 'Tokens', 'Minutes', ...(cost ? ['Cost'] : [])];
  const rows = budgets.map((budget, at) => [
    // A repeated model is visible to screen readers only.
    html`<span class=${budget.model === budgets[at - 1]?.model ? 'sr' : undefined} dir="auto">${budget.model}</span>`,
    html`${budget.effort}${budget.default ? html` <span class="mark">default</span>` : ''}`,
    number(budget.turns),
    number(budget.tool_calls),
    compact(budget.tokens),
    number(budget.minutes),
    ...(cost ? [budget.cost === null ? '–' : number(budget.cost)] : []),
  ]);
  const table = html`<${Table} columns=${columns} rows=${rows} numbers=${2} />`;
  if (budgets.length <= FEW_MODELS * 3) return table;
  return html`<details><summary>Show all</summary>${table}</details>`;
}

/** Failures by code over all processes. The answering process has its own up to date. */
function failuresOfAll({ instance, instances, failures }) {
  const others = instances.filter(({ id }) => id !== instance).flatMap((other) => other.failures);
  const groups = Map.groupBy([...failures.by_code, ...others], ({ where, code }) => `${where} ${code}`);
  return [...groups.values()]
    .map((group) => ({
      ...group[0],
      count: group.reduce((sum, { count }) => sum + count, 0),
      last_at: Math.max(...group.map(({ last_at: at }) => at)),
    }))
    .sort((a, b) => b.count - a.count);
}

function latency(ms) {
  return ms === 0 ? '–' : duration(ms);
}

function Panel({ title, count, children }) {
  return html`<section class="panel"><h2>${title} <span class="count">${count}</span></h2>${children}</section>`;
}

function Circuits({ provider }) {
  const broken = provider.models.filter(({ circuit }) => circuit !== 'closed');
  if (provider.paused_ms > 0)
    return html`<span class="status" data-status="in_progress">paused ${duration(provider.paused_ms)}</span>`;
  if (broken.length === 0) return html`<span class="status" data-status="completed">healthy</span>`;
  return broken.map(
    ({ model, circuit, retry_in_ms }) =>
      html`<span class="status" data-status=${circuit === 'open' ? 'failed' : 'in_progress'} key=${model}>${model}: ${circuit}${retry_in_ms > 0 ? `, retry in ${duration(retry_in_ms)}` : ''}</span>`,
  );
}

/** The overview, refreshed while the page is visible. */
function useOverview() {
  const { client } = app.value;
  const [loaded, setLoaded] = useState({ overview: null, error: null, metrics: { now: '', before: '', seconds: 1 } });
  const read = useRef(performance.now());
  usePolling(async () => {
    if (document.hidden) return REFRESH_MS;
    try {
      const [overview, text] = await Promise.all([client.read('admin/overview'), client.metrics().catch(() => '')]);
      const now = performance.now();
      const seconds = (now - read.current) / 1000;
      read.current = now;
      setLoaded(({ metrics }) => ({ overview, error: null, metrics: { now: text, before: metrics.now, seconds } }));
    } catch (error) {
      setLoaded((before) => ({ ...before, error }));
    }
    return REFRESH_MS;
  }, []);
  return loaded;
}
