import { json } from '../answers/answer.ts';
import type { AppDeps } from '../app-deps.ts';
import type { Endpoint } from '../endpoint.ts';
import { skipBody } from '../middleware/body.ts';

/** `POST /v1/responses/:id/cancel` (docs/api.md, "The other Responses endpoints"). Never counted against a limit. */
export function cancelResponse({ runs }: AppDeps): Endpoint {
  return async (call) => {
    const { req, identity } = call;
    await skipBody(call);
    return json(await runs.cancelById(identity.caller, 'responses', String(req.params.id)));
  };
}
