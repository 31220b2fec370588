import type { JsonObject } from '../../../base/json.ts';
import { createConversationItemsBody } from '../../../protocol/requests/conversation-requests.ts';
import { parseBody } from '../../../protocol/requests/parse.ts';
import { listConversationItemsQuery } from '../../../protocol/requests/queries.ts';
import { listObject } from '../../../protocol/response.ts';
import { toConversationObject } from '../../../runs/conversations.ts';
import { type Answer, json } from '../../answers/answer.ts';
import type { AppDeps } from '../../app-deps.ts';
import type { Call } from '../../endpoint.ts';
import { readJson } from '../../middleware/body.ts';
import { readQuery } from '../../query.ts';
import { dereferenceItems } from '../../submission/input-items.ts';

/** `POST /v1/conversations/:id/items` (docs/api.md, "Conversations"): up to 20. */
export async function postItems(deps: AppDeps, call: Call): Promise<Answer> {
  const body = await readJson(call);
  parseBody(createConversationItemsBody, body.json);
  const record = await recordOf(deps, call);
  const items = await itemsToStore(deps, call, body.json.items);
  return json(page(await deps.conversations.add(record, items), false));
}

/** `GET /v1/conversations/:id/items`: the newest first, as OpenAI lists them. */
export async function listItems(deps: AppDeps, call: Call): Promise<Answer> {
  const query = readQuery(call.req, listConversationItemsQuery);
  const found = await deps.conversations.items(await recordOf(deps, call), query);
  return json(page(found.items, found.hasMore));
}

/** `GET /v1/conversations/:id/items/:item`. */
export async function getItem(deps: AppDeps, call: Call): Promise<Answer> {
  return json(await deps.conversations.item(await recordOf(deps, call), itemOf(call)));
}

/** `DELETE /v1/conversations/:id/items/:item`: answers with the conversation. */
export async function deleteItem(deps: AppDeps, call: Call): Promise<Answer> {
  const record = await recordOf(deps, call);
  await deps.conversations.removeItem(record, itemOf(call));
  return json(toConversationObject(record));
}

/** The items of a body as they are stored: attached bytes become files of their own. */
export async function itemsToStore(deps: AppDeps, { identity }: Call, items: unknown): Promise<JsonObject[]> {
  const { retentionMs: keepMs } = deps.config.current().store;
  const { caller, context } = identity;
  await deps.attachments.saveFiles(items, caller, { keepMs, context, field: 'items' });
  return await dereferenceItems(items, { runs: deps.runs, caller, field: 'items' });
}

function recordOf({ conversations }: AppDeps, { req, identity }: Call) {
  return conversations.find(identity.caller, String(req.params.id));
}

function itemOf({ req }: Call): string {
  return String(req.params.item);
}

function page(items: readonly JsonObject[], hasMore: boolean) {
  return listObject(
    items.map((item) => ({ ...item, id: String(item.id) })),
    hasMore,
  );
}
