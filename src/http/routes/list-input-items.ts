import { fieldError } from '../../base/errors.ts';
import { shownInputItem } from '../../protocol/openai-items.ts';
import { listOf } from '../../protocol/response.ts';
import { readInput } from '../../runs/stored/stored-request.ts';
import { json } from '../answers/answer.ts';
import type { AppDeps } from '../app-deps.ts';
import type { Endpoint } from '../endpoint.ts';
import { type PageQuery, Query } from '../query.ts';

/**
 * `GET /v1/responses/:id/input_items` (docs/api.md, "The other Responses endpoints"): in the order submitted unless
 * `order` says otherwise.
 */
export function listInputItems({ runs }: AppDeps): Endpoint {
  return async ({ req, identity }) => {
    const page = new Query(req).page({ limit: 20, max: 100 });
    const run = await runs.find(identity.caller, 'responses', String(req.params.id));
    const items = readInput(run).map((item) => ({ ...shownInputItem(item), id: String(item.id) }));
    return json(pageOf(page.order === 'desc' ? items.toReversed() : items, page));
  };
}

/** The items behind `after`, or those that are nearest to `before`, in the order of the list. */
function pageOf<T extends { id: string }>(items: readonly T[], { limit, after, before }: PageQuery) {
  const from = after === undefined ? 0 : placeOf(items, after, 'after') + 1;
  const to = before === undefined ? items.length : placeOf(items, before, 'before');
  const between = items.slice(from, Math.max(from, to));
  const data = before === undefined ? between.slice(0, limit) : between.slice(-limit);
  return listOf(data, data.length < between.length);
}

function placeOf(items: readonly { id: string }[], id: string, param: string): number {
  const index = items.findIndex((item) => item.id === id);
  if (index !== -1) return index;
  throw fieldError('invalid_parameter', param, 'there is no such item in this response.');
}
