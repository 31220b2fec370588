import type { Timeline } from '../../protocol/timeline.ts';
import { json } from '../answers/answer.ts';
import type { AppDeps } from '../app-deps.ts';
import type { Endpoint } from '../endpoint.ts';

/** `GET /v1/responses/:id/timeline` (docs/api.md, "The timeline"): the times of its events, and what its turns took. */
export function getTimeline({ runs }: AppDeps): Endpoint {
  return async ({ req, identity }) => {
    const run = await runs.find(identity.caller, 'responses', String(req.params.id));
    const timeline: Timeline = { ...(await runs.timeline(run)), currency: identity.config.server.currency };
    return json(timeline);
  };
}
