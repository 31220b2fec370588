import { app } from '../app.js';
import { asText, exactly, line, toTheSecond } from '../format.js';
import { html, useEffect } from '../lib/preact.js';
import { Button, Failure } from '../parts/controls.js';
import { useAttempt, useRequest } from '../parts/request-hooks.js';

/** How often open deliveries are read again, in milliseconds. */
const POLL_MS = 5000;

/** The webhook deliveries of a run, empty until they are read. `reread` reads them again. */
export function useDeliveries(id, { ended }) {
  const { client } = app.value;
  const load = async () => (ended ? (await client.deliveries.list({ run: id })).data : []);
  // The page itself says so if the run is gone.
  const { found, error, read } = useRequest(load, [id, ended]);
  const deliveries = found ?? [];
  const isUnderWay = deliveries.some(({ status }) => status === 'pending');
  useEffect(() => {
    if (!isUnderWay) return;
    const timer = setTimeout(read, POLL_MS);
    return () => clearTimeout(timer);
  }, [id, isUnderWay, found, error]);
  return { deliveries, reread: read };
}

const STATUS = { delivered: 'completed', failed: 'failed', pending: 'in_progress' };

export function Deliveries({ deliveries, reread }) {
  const { client } = app.value;
  const { attempt, error } = useAttempt();
  const again = (id) => attempt(() => client.deliveries.act(id, 'redeliver').then(reread));
  return html`<${Failure} error=${error} />
    <ul class="deliveries">${deliveries.map(
      (each) => html`<li key=${each.id}>
        <p class="run-about">
          <span class="status" data-status=${STATUS[each.status]}>${each.status}</span>
          <strong dir="auto">${each.event.type}</strong>
          <span>${each.receiver === 'key' ? 'webhook of the key' : 'webhook of the request'}</span>
        </p>
        <p class="url" dir="auto">${each.url ?? 'This webhook was removed.'}</p>
        <ol class="attempts">${each.attempts.map(
          (attempt, at) =>
            html`<li key=${at}>${toTheSecond(attempt.created_at * 1000)}: <span dir="auto">${answerOf(attempt)}</span></li>`,
        )}</ol>
        ${each.next_attempt_at && html`<p class="quiet">Next attempt at ${exactly(each.next_attempt_at * 1000)}.</p>`}
        <${Button} icon="replay" onClick=${() => again(each.id)}>Send again<//>
      </li>`,
    )}</ul>`;
}

function answerOf({ status_code: status, error }) {
  return status === null ? line(asText(error ?? 'no answer'), 200) : `answered ${status}`;
}
