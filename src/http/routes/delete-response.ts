import { publicId } from '../../base/ids.ts';
import { json } from '../answers/answer.ts';
import type { AppDeps } from '../app-deps.ts';
import type { Endpoint } from '../endpoint.ts';

/** `DELETE /v1/responses/:id` (docs/api.md, "The other Responses endpoints"): a run in progress is cancelled first. */
export function deleteResponse({ runs }: AppDeps): Endpoint {
  return async ({ req, identity }) => {
    const run = await runs.find(identity.caller, 'responses', String(req.params.id));
    await runs.delete(run);
    return json({ id: publicId('responses', run.id), object: 'response', deleted: true });
  };
}
