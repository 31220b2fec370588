import { parsePublicId, publicId, type RunId } from '../../base/ids.ts';
import type { ResponseObject } from '../../protocol/response.ts';
import type { TaskStatus } from '../../protocol/tasks.ts';
import { noteRemoval, resolveCursor } from '../../store/removed-records.ts';
import type { ListedStatus, RunRecord, RunStore } from '../../store/run-store.ts';
import type { EntryStore } from '../../store/side-stores/entry-store.ts';

export interface RunListQuery {
  limit: number;
  /** By creation; `desc` if absent. */
  order?: 'asc' | 'desc';
  /** Public id of the entry after which the page begins. */
  after?: string;
  /** Public id of the entry before which the page ends. */
  before?: string;
  status?: ResponseObject['status'] | TaskStatus;
  model?: string;
}

const STATUS_OF_QUERY: Readonly<Record<NonNullable<RunListQuery['status']>, readonly ListedStatus[]>> = {
  in_progress: ['queued', 'in_progress'],
  completed: ['completed'],
  incomplete: ['incomplete'],
  failed: ['failed'],
  cancelled: ['cancelled'],
  CREATED: ['queued'],
  IN_PROGRESS: ['in_progress'],
  COMPLETED: ['completed', 'incomplete'],
  FAILED: ['failed'],
  CANCELLED: ['cancelled'],
};

interface RunListParts {
  store: RunStore;
  entries: EntryStore;
}

/**
 * A page of a user's runs of one interface. `find` looks up a run of the user.
 * @throws GatewayError `invalid_parameter` for a cursor that is not in the list, `store_unavailable`.
 */
export async function listRuns(
  { store, entries }: RunListParts,
  { limit, order, model, ...query }: RunListQuery,
  { user, api, find }: { user: string; api: 'responses' | 'async'; find(id: RunId): Promise<RunRecord | undefined> },
) {
  const cursor = async (param: 'after' | 'before') => {
    const id = query[param];
    if (id === undefined) return undefined;
    const runId = parsePublicId(api, id) ?? '';
    const findPlace = async () => {
      const run = await find(runId);
      return run?.api === api ? run.createdAt : undefined;
    };
    const createdAt = await resolveCursor(entries, listOf({ user, api }), { id, param, find: findPlace });
    return { id: runId, createdAt };
  };
  const [after, before] = [await cursor('after'), await cursor('before')];
  const status = query.status && STATUS_OF_QUERY[query.status];
  return await store.list({ user, api, limit, order, after, before, status, model });
}

/** Remembers the place of a run that is about to be deleted, for the pages that follow it. */
export async function noteDeletedRun({ entries }: RunListParts, run: RunRecord, now: number): Promise<void> {
  await noteRemoval(entries, listOf(run), { id: publicId(run.api, run.id), place: run.createdAt, now });
}

function listOf({ user, api }: Pick<RunRecord, 'user' | 'api'>): string {
  return `${api} of ${user}`;
}
