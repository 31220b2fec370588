import { fieldError } from '../../base/errors.ts';
import { listDeliveriesQuery } from '../../protocol/requests/queries.ts';
import { listObject } from '../../protocol/response.ts';
import type { RunRecord } from '../../store/run-store.ts';
import { parseDeliveryId } from '../../webhooks/webhooks.ts';
import { type Answer, json } from '../answers/answer.ts';
import type { AppDeps } from '../app-deps.ts';
import type { Call } from '../endpoint.ts';
import { skipBody } from '../middleware/body.ts';
import { readQuery } from '../query.ts';

/** The parameter is optional here so that the endpoint can report its absence itself. */
const deliveriesQuery = listDeliveriesQuery.partial();

/** `GET /v1/webhook_deliveries?run=` (docs/webhooks.md): the deliveries about the end of a run. */
export async function listDeliveries(deps: AppDeps, call: Call): Promise<Answer> {
  const { run: id } = readQuery(call.req, deliveriesQuery);
  if (id === undefined) {
    const what = 'name the response or task whose deliveries you want, as in ?run=resp_...';
    throw fieldError('missing_parameter', 'run', what);
  }
  return json(listObject(await deps.webhooks.listDeliveries(await findRun(deps, call, id)), false));
}

/** `POST /v1/webhook_deliveries/:id/redeliver`. */
export async function redeliver(deps: AppDeps, call: Call): Promise<Answer> {
  await skipBody(call);
  const { run, receiver } = parseDeliveryId(String(call.req.params.id));
  return json(await deps.webhooks.redeliver(await findRun(deps, call, run), receiver));
}

/** A response or task of the caller. @throws GatewayError `not_found`. */
function findRun({ runs }: AppDeps, { identity }: Call, id: string): Promise<RunRecord> {
  return runs.find(identity.caller, id.startsWith('task_') ? 'async' : 'responses', id);
}
