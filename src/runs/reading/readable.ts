import type { RunRecord } from '../../store/run-store.ts';
import type { Caller } from '../runs.ts';

/** Who may read what of runs that are their own. */

export function isOpen(run: RunRecord): boolean {
  return run.status === 'queued' || run.status === 'in_progress';
}

/** Whether nothing knows a run any more: one with `store: false` behind its end (docs/api.md, "POST /v1/responses"). */
export function isHiddenRun(run: RunRecord, { reads }: Caller): boolean {
  return run.api === 'unstored' && !isOpen(run) && !reads?.has(run.id);
}

/** A research run is read through either interface, a proxy task only as a task. */
export function readableThrough(run: RunRecord, api: 'responses' | 'async'): boolean {
  if (run.api === 'chat_completions') return false;
  if (run.api === 'unstored') return api === 'responses';
  return api === 'async' || run.kind === 'research';
}
