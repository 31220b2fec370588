import type { JsonObject } from '../../../base/json.ts';
import { createConversationBody, updateConversationBody } from '../../../protocol/requests/conversation-requests.ts';
import { requireExactMetadata } from '../../../protocol/requests/exact-numbers.ts';
import { parseBody } from '../../../protocol/requests/parse.ts';
import { toConversationObject } from '../../../runs/conversations.ts';
import { type Answer, json } from '../../answers/answer.ts';
import type { AppDeps } from '../../app-deps.ts';
import type { Call } from '../../endpoint.ts';
import { hasBody, type JsonBody, readJson } from '../../middleware/body.ts';
import { itemsToStore } from './items.ts';

const EMPTY_BODY: JsonBody = { raw: Buffer.from('{}'), json: {} };

/** `POST /v1/conversations` (docs/api.md, "Conversations"). */
export async function postConversation(deps: AppDeps, call: Call): Promise<Answer> {
  const body = hasBody(call.req) ? await readJson(call) : EMPTY_BODY;
  const { value } = parseBody(createConversationBody, body.json);
  requireExactMetadata(body.raw);
  const items = value.items ? await itemsToStore(deps, call, body.json.items) : [];
  return json(await deps.conversations.create(call.identity.caller, { items, metadata: value.metadata ?? {} }));
}

/** `GET /v1/conversations/:id`. */
export async function getConversation({ conversations }: AppDeps, call: Call): Promise<Answer> {
  return json(toConversationObject(await conversations.find(call.identity.caller, idOf(call))));
}

/** `POST /v1/conversations/:id`: replaces the metadata. */
export async function updateMetadata({ conversations }: AppDeps, call: Call): Promise<Answer> {
  const body = await readJson(call);
  // OpenAI's clients send null to clear it.
  const cleared = body.json.metadata === null && { metadata: {} };
  const { value } = parseBody(updateConversationBody, { ...body.json, ...cleared });
  requireExactMetadata(body.raw);
  const record = await conversations.find(call.identity.caller, idOf(call));
  const metadata: JsonObject = value.metadata;
  return json(await conversations.setMetadata(record, metadata));
}

/** `DELETE /v1/conversations/:id`: with its items. */
export async function deleteConversation({ conversations }: AppDeps, call: Call): Promise<Answer> {
  const record = await conversations.find(call.identity.caller, idOf(call));
  await conversations.delete(record);
  return json({ id: idOf(call), object: 'conversation.deleted', deleted: true });
}

function idOf({ req }: Call): string {
  return String(req.params.id);
}
