import { toTaskEntry } from '../../runs/projections/task.ts';
import { json } from '../answers/answer.ts';
import type { AppDeps } from '../app-deps.ts';
import type { Endpoint } from '../endpoint.ts';
import { Query } from '../query.ts';

/** `GET /v1/async` (docs/api.md, "Async"): the caller's own tasks, newest first unless `order` says otherwise. */
export function listTasks({ runs }: AppDeps): Endpoint {
  return async ({ req, identity }) => {
    const query = new Query(req);
    const page = await runs.list(identity.caller, 'async', {
      status: query.choice('status', ['CREATED', 'IN_PROGRESS', 'COMPLETED', 'FAILED', 'CANCELLED']),
      ...query.page({ limit: 100, max: 1000 }),
    });
    return json({ tasks: page.runs.map(toTaskEntry), has_more: page.hasMore });
  };
}
