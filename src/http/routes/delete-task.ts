import { publicId } from '../../base/ids.ts';
import { json } from '../answers/answer.ts';
import type { AppDeps } from '../app-deps.ts';
import type { Endpoint } from '../endpoint.ts';

/** `DELETE /v1/async/:id` (docs/api.md, "Async"): a task in progress is cancelled first. */
export function deleteTask({ runs }: AppDeps): Endpoint {
  return async ({ req, identity }) => {
    const run = await runs.find(identity.caller, 'async', String(req.params.id));
    await runs.delete(run);
    return json({ id: publicId('async', run.id), deleted: true });
  };
}
