import { duration, number } from '../format.js';
import { html } from '../lib/preact.js';
import { Table } from './table.js';

const MINUTES = 60;
const HEIGHT = 60;
const STEP = 8;
const WIDTH = 6;

/**
 * Each provider's time to the first token, by minute over the last hour (p50 and p95), with failed attempts and opened
 * circuits, which keep requests away.
 */
export function FirstTokens({ providers, now }) {
  const active = providers.filter(({ minutes = [] }) => minutes.length > 0);
  return active.map(
    ({ name, minutes }) => html`<${Provider} key=${name} name=${name} minutes=${minutes} now=${now} />`,
  );
}

function Provider({ name, minutes, now }) {
  const start = Math.floor(now / 60) * 60 - (MINUTES - 1) * 60;
  const recent = minutes.filter(({ at }) => at >= start);
  const max = Math.max(1, ...recent.map(({ p95_ms: slow }) => slow));
  const heightOf = (ms) => (ms / max) * (HEIGHT - 4);
  const latest = recent.findLast(({ p50_ms: half }) => half > 0);
  const opened = recent.reduce((sum, minute) => sum + minute.opened, 0);
  const first = latest
    ? `${duration(latest.p50_ms)} p50, ${duration(latest.p95_ms)} p95 in the latest minute`
    : 'no streams';
  const about = opened > 0 ? `${first}, circuit opened ${opened === 1 ? 'once' : `${number(opened)} times`}` : first;
  return html`<figure class="first-tokens">
    <figcaption><span dir="auto">${name}</span> <span class="quiet">${about}</span></figcaption>
    <svg class="bars" role="img" aria-label=${`First token of ${name} over the last hour: ${about}, ${duration(max)} at most`} viewBox=${`0 0 ${MINUTES * STEP} ${HEIGHT}`} preserveAspectRatio="none">
      ${recent.map(({ at, p50_ms: half, p95_ms: slow, failed, opened }) => {
        const x = ((at - start) / 60) * STEP;
        return html`<g key=${at}><title>${timeOf(at)}: ${duration(half)} p50, ${duration(slow)} p95${failed > 0 ? `, ${number(failed)} failed` : ''}${opened > 0 ? ', circuit opened' : ''}</title>
          <rect class="bar-place" x=${x} y="0" width=${STEP} height=${HEIGHT} />
          <rect class="bar-slow" x=${x + 1} y=${HEIGHT - heightOf(slow)} width=${WIDTH} height=${heightOf(slow)} />
          <rect class="bar" x=${x + 1} y=${HEIGHT - heightOf(half)} width=${WIDTH} height=${heightOf(half)} />
          ${failed > 0 && html`<rect class="bar-failed" x=${x + 1} y="0" width=${WIDTH} height=${opened > 0 ? 12 : 3} />`}
        </g>`;
      })}
    </svg>
    <p class="bars-ends" aria-hidden="true"><span>an hour ago</span><span>now</span></p>
    <details><summary>By minute</summary>
      <${Table} label=${`Minutes of ${name}`} columns=${['Minute', 'Attempts', 'Failed', 'Circuit opened', 'p50', 'p95']} numbers=${1} rows=${recent.toReversed().map((minute) => [timeOf(minute.at), number(minute.attempts), number(minute.failed), number(minute.opened), duration(minute.p50_ms), duration(minute.p95_ms)])} />
    </details>
  </figure>`;
}

function timeOf(seconds) {
  return new Date(seconds * 1000).toLocaleTimeString([], { hour: '2-digit', minute: '2-digit' });
}
