import { publicId } from '../../base/ids.ts';
import type { ResponseObject } from '../../protocol/response.ts';
import type { TaskEntry, TaskStatus } from '../../protocol/tasks.ts';
import type { RunStatus, RunSummary } from '../../store/run-store.ts';
import { toChatCompletion } from './chat.ts';
import { toPlainCompletion } from './plain-chat.ts';

/** A run as a task of the Async interface (docs/api.md, "Async"). */

const TASK_STATUS: Readonly<Record<RunStatus, TaskStatus>> = {
  queued: 'CREATED',
  in_progress: 'IN_PROGRESS',
  completed: 'COMPLETED',
  failed: 'FAILED',
  cancelled: 'CANCELLED',
};

/** A task as lists show it. Times that are not known yet are left out. */
export function toTaskEntry(run: RunSummary): TaskEntry {
  const iso = (ms: number) => new Date(ms).toISOString();
  const { startedAt, endedAt, status } = run;
  return {
    id: publicId('async', run.id),
    status: TASK_STATUS[status],
    model: run.model,
    created_at: iso(run.createdAt),
    ...(startedAt === null ? {} : { started_at: iso(startedAt) }),
    ...(endedAt !== null && { [status === 'cancelled' ? 'cancelled_at' : 'completed_at']: iso(endedAt) }),
  };
}

/**
 * The whole task as JSON text. A proxy model's result is the provider's body, inserted as it came: parsing and writing it
 * again would change big numbers.
 */
export function taskJson(
  run: RunSummary,
  ended: { response: ResponseObject; proxyBody?: string; isPlain?: boolean } | undefined,
): string {
  const entry = toTaskEntry(run);
  if (run.status === 'failed') return JSON.stringify({ ...entry, error: ended?.response.error ?? null });
  if (run.status !== 'completed' || !ended) return JSON.stringify(entry);
  const completionOf = ended.isPlain ? toPlainCompletion : toChatCompletion;
  const result = ended.proxyBody ?? JSON.stringify(completionOf(ended.response));
  return `${JSON.stringify(entry).slice(0, -1)},"result":${result}}`;
}
