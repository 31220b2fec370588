import { GatewayError } from '../../base/errors.ts';
import type { JsonObject } from '../../base/json.ts';
import { listOf } from '../../protocol/response.ts';
import { json } from '../answer.ts';
import type { AppDeps } from '../app-deps.ts';
import type { Endpoint } from '../endpoint.ts';
import { Query } from '../query.ts';

/** `GET /v1/responses/:id/input_items` (contract section 5): in the order submitted. */
export function listInputItems({ runs }: AppDeps): Endpoint {
  return async ({ req, identity }) => {
    const query = new Query(req);
    const limit = query.integer('limit', { min: 1, max: 100 }) ?? 20;
    const after = query.text('after');
    const run = await runs.find(identity.caller, 'responses', String(req.params.id));
    const items = runs.inputItems(run).map((item) => ({ ...item, id: String(item.id) }));
    const start = after === undefined ? 0 : placeAfter(items, after);
    return json(listOf(items.slice(start, start + limit), start + limit < items.length));
  };
}

function placeAfter(items: readonly JsonObject[], after: string): number {
  const index = items.findIndex((item) => item.id === after);
  if (index !== -1) return index + 1;
  throw new GatewayError('invalid_parameter', 'after: there is no such item in this response.', { param: 'after' });
}
