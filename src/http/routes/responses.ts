import type { Request } from 'express';
import { toSeconds } from '../../base/clock.ts';
import { fieldError } from '../../base/errors.ts';
import { ID_PREFIX, publicId } from '../../base/ids.ts';
import { isObject, parseJson } from '../../base/json.ts';
import { shownInputItem } from '../../protocol/openai-items.ts';
import { listOf, type ResponseListEntry } from '../../protocol/response.ts';
import type { Timeline } from '../../protocol/timeline.ts';
import type { RunRecord, RunSummary } from '../../runs/runs.ts';
import { readListed } from '../../runs/stored/listed.ts';
import { readInput } from '../../runs/stored/stored-request.ts';
import { type Answer, json, jsonText } from '../answers/answer.ts';
import { readFrames } from '../answers/run-stream.ts';
import type { AppDeps } from '../app-deps.ts';
import type { Call } from '../endpoint.ts';
import { skipBody } from '../middleware/body.ts';
import { type PageQuery, Query } from '../query.ts';

/**
 * `GET /v1/responses` (docs/api.md, "The other Responses endpoints"): the caller's own, newest first unless `order`
 * says otherwise.
 */
export async function listResponses({ runs }: AppDeps, { req, identity }: Call): Promise<Answer> {
  const query = new Query(req);
  const page = await runs.list(identity.caller, 'responses', {
    status: query.choice('status', ['in_progress', 'completed', 'failed', 'cancelled']),
    model: query.text('model'),
    ...query.page({ limit: 20, max: 100 }),
  });
  return json(listOf(page.runs.map(entryOf), page.hasMore));
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

/** When to ask again, in milliseconds: the official SDKs heed it while they poll. */
const POLL_HEADERS = { 'openai-poll-after-ms': '1000' };

/**
 * `GET /v1/responses/:id` (docs/api.md, "The other Responses endpoints"): the response object, or its events with
 * `stream=true`.
 */
export async function getResponse(deps: AppDeps, { req, identity }: Call): Promise<Answer> {
  const query = new Query(req);
  const stream = query.flag('stream');
  const after = stream ? cursorOf(req, query) : undefined;
  const run = await deps.runs.find(identity.caller, 'responses', String(req.params.id));
  if (after) {
    const { context } = identity;
    const chunks = isPastEnd(run, after) ? [] : readFrames(deps, run, { after: after.value, context });
    return { kind: 'stream', headers: {}, chunks };
  }
  const open = run.status === 'queued' || run.status === 'in_progress';
  return jsonText(await deps.runs.responseJson(run), open ? { headers: POLL_HEADERS } : {});
}

interface Cursor {
  param: string;
  value: number;
}

/**
 * `after`, else `starting_after`, else `Last-Event-ID`, which is ignored where it is unusable (docs/api.md, "Resuming a
 * dropped stream").
 */
function cursorOf(req: Request, query: Query): Cursor {
  const bounds = { min: 0, max: Number.MAX_SAFE_INTEGER };
  for (const param of ['after', 'starting_after']) {
    const value = query.integer(param, bounds);
    if (value !== undefined) return { param, value };
  }
  const header = req.headers['last-event-id'];
  const usable = typeof header === 'string' && /^\d{1,15}$/.test(header);
  return { param: 'Last-Event-ID', value: usable ? Number(header) : 0 };
}

/**
 * Whether there is nothing left of a run that has ended.
 * @throws GatewayError `invalid_parameter` past the end of one that goes on: waiting there would be a silent hang.
 */
function isPastEnd(run: RunRecord, { param, value }: Cursor): boolean {
  if (value < run.last) return false;
  const ended = run.status !== 'queued' && run.status !== 'in_progress';
  if (ended || value === run.last) return ended;
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
  const page = new Query(req).page({ limit: 20, max: 100 });
  const run = await runs.find(identity.caller, 'responses', String(req.params.id));
  const items = readInput(run).map((item) => ({ ...shownInputItem(item), id: String(item.id) }));
  return json(pageOf(page.order === 'desc' ? items.toReversed() : items, page));
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

/** `GET /v1/responses/:id/timeline` (docs/api.md, "The timeline"): the times of its events, and what its turns took. */
export async function getTimeline({ runs }: AppDeps, { req, identity }: Call): Promise<Answer> {
  const run = await runs.find(identity.caller, 'responses', String(req.params.id));
  const timeline: Timeline = { ...(await runs.timeline(run)), currency: identity.config.server.currency };
  return json(timeline);
}
