import type { Request } from 'express';
import { toSeconds } from '../../base/clock.ts';
import { fieldError } from '../../base/errors.ts';
import { ID_PREFIX, publicId } from '../../base/ids.ts';
import { isObject, parseJson } from '../../base/json.ts';
import { completeInputItem } from '../../protocol/openai/items.ts';
import { getResponseQuery, listInputItemsQuery, listResponsesQuery } from '../../protocol/requests/queries.ts';
import { listObject, type ResponseListEntry } from '../../protocol/response.ts';
import type { Timeline } from '../../protocol/timeline.ts';
import { isOpen } from '../../runs/reading/readable.ts';
import type { RunRecord, RunSummary } from '../../runs/runs.ts';
import { readListed } from '../../runs/stored/listed.ts';
import { readInput } from '../../runs/stored/stored-request.ts';
import { type Answer, json, jsonText } from '../answers/answer.ts';
import { readFrames } from '../answers/run-stream.ts';
import type { AppDeps } from '../app-deps.ts';
import type { Call } from '../endpoint.ts';
import { skipBody } from '../middleware/body.ts';
import { pageOf, readQuery } from '../query.ts';

/**
 * `GET /v1/responses` (docs/api.md, "The other Responses endpoints"): the caller's own, newest first unless `order`
 * says otherwise.
 */
export async function listResponses({ runs }: AppDeps, { req, identity }: Call): Promise<Answer> {
  const page = await runs.list(identity.caller, 'responses', readQuery(req, listResponsesQuery));
  return json(listObject(page.runs.map(entryOf), page.hasMore));
}

function entryOf(run: RunSummary): ResponseListEntry {
  const metadata = parseJson(run.metadata);
  const { status = run.status, ...listed } = readListed(run);
  return {
    id: ID_PREFIX.responses + run.id,
    object: 'response',
    status: status === 'queued' ? 'in_progress' : status,
    model: run.model,
    created_at: toSeconds(run.createdAt),
    started_at: run.startedAt === null ? null : toSeconds(run.startedAt),
    completed_at: run.endedAt === null ? null : toSeconds(run.endedAt),
    usage: listed.usage,
    incomplete_details: listed.incomplete_details,
    previous_response_id: listed.previous_response_id,
    metadata: isObject(metadata) ? metadata : {},
  };
}

/** Read first, because the cursors matter only to a stream. */
const streamQuery = getResponseQuery.pick({ stream: true });
/** When to poll again, in milliseconds. The official SDKs respect it. */
const POLL_HEADERS = { 'openai-poll-after-ms': '1000' };

/**
 * `GET /v1/responses/:id` (docs/api.md, "The other Responses endpoints"): the response object, or its events with
 * `stream=true`.
 */
export async function getResponse(deps: AppDeps, { req, identity }: Call): Promise<Answer> {
  const { stream } = readQuery(req, streamQuery);
  const after = stream.toLowerCase() === 'true' ? cursorOf(req) : undefined;
  const run = await deps.runs.find(identity.caller, 'responses', String(req.params.id));
  if (after) {
    const { context } = identity;
    const chunks = isAtEnd(run, after) ? [] : readFrames(deps, run, { after: after.value, context });
    return { kind: 'stream', headers: {}, chunks };
  }
  return jsonText(await deps.runs.responseJson(run), isOpen(run) ? { headers: POLL_HEADERS } : {});
}

interface Cursor {
  param: string;
  value: number;
}

/**
 * `after`, else `starting_after`, else `Last-Event-ID`, which is ignored where it is unusable (docs/api.md, "Resuming a
 * dropped stream").
 */
function cursorOf(req: Request): Cursor {
  const { after, starting_after } = readQuery(req, getResponseQuery);
  if (after !== undefined) return { param: 'after', value: after };
  if (starting_after !== undefined) return { param: 'starting_after', value: starting_after };
  const header = req.headers['last-event-id'];
  const isUsable = typeof header === 'string' && /^\d{1,15}$/.test(header);
  return { param: 'Last-Event-ID', value: isUsable ? Number(header) : 0 };
}

/**
 * Whether a run has ended and has no events after the cursor.
 * @throws GatewayError `invalid_parameter` for a cursor past the last event so far, which would wait in silence.
 */
function isAtEnd(run: RunRecord, { param, value }: Cursor): boolean {
  if (value < run.last) return false;
  if (!isOpen(run) || value === run.last) return !isOpen(run);
  throw fieldError('invalid_parameter', param, `the last event of this response so far is ${run.last}.`);
}

/** `DELETE /v1/responses/:id` (docs/api.md, "The other Responses endpoints"): a run in progress is cancelled first. */
export async function deleteResponse({ runs }: AppDeps, { req, identity }: Call): Promise<Answer> {
  const run = await runs.find(identity.caller, 'responses', String(req.params.id));
  await runs.delete(run);
  return json({ id: publicId('responses', run.id), object: 'response', deleted: true });
}

/** `POST /v1/responses/:id/cancel` (docs/api.md, "The other Responses endpoints"). Never counted against a limit. */
export async function cancelResponse({ runs }: AppDeps, call: Call): Promise<Answer> {
  const { req, identity } = call;
  await skipBody(call);
  return json(await runs.cancelById(identity.caller, 'responses', String(req.params.id)));
}

/**
 * `GET /v1/responses/:id/input_items` (docs/api.md, "The other Responses endpoints"): in the order submitted unless
 * `order` says otherwise.
 */
export async function listInputItems({ runs }: AppDeps, { req, identity }: Call): Promise<Answer> {
  const query = readQuery(req, listInputItemsQuery);
  const run = await runs.find(identity.caller, 'responses', String(req.params.id));
  const items = readInput(run).map((item) => ({ ...completeInputItem(item), id: String(item.id) }));
  const missing = (param: string) => fieldError('invalid_parameter', param, 'there is no such item in this response.');
  const { data, hasMore } = pageOf(query.order === 'desc' ? items.toReversed() : items, query, { missing });
  return json(listObject(data, hasMore));
}

/** `GET /v1/responses/:id/timeline` (docs/api.md, "The timeline"): the times of its events, and what its turns took. */
export async function getTimeline({ runs }: AppDeps, { req, identity }: Call): Promise<Answer> {
  const run = await runs.find(identity.caller, 'responses', String(req.params.id));
  const timeline: Timeline = { ...(await runs.timeline(run)), currency: identity.config.server.currency };
  return json(timeline);
}
