import { toSeconds } from '../../base/clock.ts';
import { ID_PREFIX } from '../../base/ids.ts';
import { isObject, parseJson } from '../../base/json.ts';
import { listOf, type ResponseListEntry } from '../../protocol/response.ts';
import type { RunSummary } from '../../runs/runs.ts';
import { readListed } from '../../runs/stored/listed.ts';
import { json } from '../answers/answer.ts';
import type { AppDeps } from '../app-deps.ts';
import type { Endpoint } from '../endpoint.ts';
import { Query } from '../query.ts';

/**
 * `GET /v1/responses` (docs/api.md, "The other Responses endpoints"): the caller's own, newest first unless `order`
 * says otherwise.
 */
export function listResponses({ runs }: AppDeps): Endpoint {
  return async ({ req, identity }) => {
    const query = new Query(req);
    const page = await runs.list(identity.caller, 'responses', {
      status: query.choice('status', ['in_progress', 'completed', 'failed', 'cancelled']),
      model: query.text('model'),
      ...query.page({ limit: 20, max: 100 }),
    });
    return json(listOf(page.runs.map(entryOf), page.hasMore));
  };
}

function entryOf(run: RunSummary): ResponseListEntry {
  const metadata = parseJson(run.metadata);
  const { usage, incomplete_details, previous_response_id } = readListed(run);
  return {
    id: ID_PREFIX.responses + run.id,
    object: 'response',
    status: run.status === 'queued' ? 'in_progress' : run.status,
    model: run.model,
    created_at: toSeconds(run.createdAt),
    started_at: run.startedAt === null ? null : toSeconds(run.startedAt),
    completed_at: run.endedAt === null ? null : toSeconds(run.endedAt),
    usage,
    incomplete_details,
    previous_response_id,
    metadata: isObject(metadata) ? metadata : {},
  };
}
