import type { Request } from 'express';
import { fieldError } from '../../base/errors.ts';
import type { RunRecord } from '../../runs/runs.ts';
import { jsonText } from '../answers/answer.ts';
import { readFrames } from '../answers/run-stream.ts';
import type { AppDeps } from '../app-deps.ts';
import type { Endpoint } from '../endpoint.ts';
import { Query } from '../query.ts';

/** When to ask again, in milliseconds: the official SDKs heed it while they poll. */
const POLL_HEADERS = { 'openai-poll-after-ms': '1000' };

/**
 * `GET /v1/responses/:id` (docs/api.md, "The other Responses endpoints"): the response object, or its events with
 * `stream=true`.
 */
export function getResponse(deps: AppDeps): Endpoint {
  return async ({ req, identity }) => {
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
  };
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
