import { publicId } from '../../base/ids.ts';
import { listTasksQuery } from '../../protocol/requests/queries.ts';
import { toTaskEntry } from '../../runs/projections/task.ts';
import { type Answer, json, jsonText } from '../answers/answer.ts';
import type { AppDeps } from '../app-deps.ts';
import type { Call } from '../endpoint.ts';
import { skipBody } from '../middleware/body.ts';
import { readQuery } from '../query.ts';

/** `GET /v1/async` (docs/api.md, "Async"): the caller's own tasks, newest first unless `order` says otherwise. */
export async function listTasks({ runs }: AppDeps, { req, identity }: Call): Promise<Answer> {
  const page = await runs.list(identity.caller, 'async', readQuery(req, listTasksQuery));
  return json({ tasks: page.runs.map(toTaskEntry), has_more: page.hasMore });
}

/** `GET /v1/async/:id` (docs/api.md, "Async"). */
export async function getTask({ runs }: AppDeps, { req, identity }: Call): Promise<Answer> {
  const run = await runs.find(identity.caller, 'async', String(req.params.id));
  return jsonText(await runs.taskJson(run));
}

/** `DELETE /v1/async/:id` (docs/api.md, "Async"): a task in progress is cancelled first. */
export async function deleteTask({ runs }: AppDeps, { req, identity }: Call): Promise<Answer> {
  const run = await runs.find(identity.caller, 'async', String(req.params.id));
  await runs.delete(run);
  return json({ id: publicId('async', run.id), deleted: true });
}

/** `POST /v1/async/:id/cancel` (docs/api.md, "Async"). Returns the actual status, also of a task that had ended. */
export async function cancelTask({ runs }: AppDeps, call: Call): Promise<Answer> {
  const { req, identity } = call;
  await skipBody(call);
  const id = String(req.params.id);
  await runs.cancelById(identity.caller, 'async', id);
  return json(toTaskEntry(await runs.find(identity.caller, 'async', id)));
}
