import { GatewayError, shuttingDown } from '../../base/errors.ts';
import { ID_PREFIX, publicId } from '../../base/ids.ts';
import type { RunRecord } from '../../store/run-store.ts';
import type { Caller } from '../submission.ts';

/** Which of their own runs users may read, and through which API. */

export function isOpen(run: RunRecord): boolean {
  return run.status === 'queued' || run.status === 'in_progress';
}

/** Whether a run is no longer visible: it was sent with `store: false` and has ended (docs/api.md, "POST /v1/responses"). */
export function isHiddenRun(run: RunRecord, { reads }: Caller): boolean {
  return run.api === 'unstored' && !isOpen(run) && !reads?.has(run.id);
}

/** A research run can be read through either API, a proxy task only as a task. */
export function isReadableThrough(run: RunRecord, api: 'responses' | 'async'): boolean {
  if (run.api === 'chat_completions') return false;
  if (run.api === 'unstored') return api === 'responses';
  return api === 'async' || run.kind === 'research';
}

/** How much of an unknown id an error message repeats, in characters. */
const MAX_ID = 80;

/** For ids that are unknown or belong to another user; clients cannot tell which. */
export function notFound(id: string, api?: 'responses' | 'async'): GatewayError {
  const hint = api === undefined || id.startsWith(ID_PREFIX[api]) ? '' : ` Ids begin with ${ID_PREFIX[api]} here.`;
  return new GatewayError('not_found', `Nothing that this key may read has the id ${id.slice(0, MAX_ID)}.${hint}`);
}

/** The error that ends the waiting for a run that is handed over. It names the run, so that nobody pays for a second one. */
export function handedOver({ api, id }: RunRecord): GatewayError {
  if (api !== 'responses') return shuttingDown();
  const message = `The gateway shuts down. The response goes on: get ${publicId(api, id)} instead of asking again.`;
  return new GatewayError('shutting_down', message, { retryAfterMs: 1000 });
}
