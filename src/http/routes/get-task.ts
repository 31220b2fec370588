import { jsonText } from '../answers/answer.ts';
import type { AppDeps } from '../app-deps.ts';
import type { Endpoint } from '../endpoint.ts';

/** `GET /v1/async/:id` (docs/api.md, "Async"). */
export function getTask({ runs }: AppDeps): Endpoint {
  return async ({ req, identity }) => {
    const run = await runs.find(identity.caller, 'async', String(req.params.id));
    return jsonText(await runs.taskJson(run));
  };
}
