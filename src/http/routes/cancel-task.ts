import { toTaskEntry } from '../../runs/projections/task.ts';
import { json } from '../answers/answer.ts';
import type { AppDeps } from '../app-deps.ts';
import type { Endpoint } from '../endpoint.ts';
import { skipBody } from '../middleware/body.ts';

/** `POST /v1/async/:id/cancel` (docs/api.md, "Async"). Ended tasks are answered with their true status. */
export function cancelTask({ runs }: AppDeps): Endpoint {
  return async (call) => {
    const { req, identity } = call;
    await skipBody(call);
    const id = String(req.params.id);
    await runs.cancelById(identity.caller, 'async', id);
    return json(toTaskEntry(await runs.find(identity.caller, 'async', id)));
  };
}
