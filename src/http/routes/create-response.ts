import { fieldError } from '../../base/errors.ts';
import type { CreateResponse } from '../../protocol/requests/requests.ts';
import type { ResponseObject } from '../../protocol/response.ts';
import { createdResponse } from '../../runs/submitting/new-run.ts';
import type { RunRecord } from '../../store/run-store.ts';
import { type Answer, json } from '../answers/answer.ts';
import { readFrames } from '../answers/run-stream.ts';
import type { AppDeps } from '../app-deps.ts';
import type { Call } from '../endpoint.ts';
import { forwardJson } from '../forward.ts';
import { readJson } from '../middleware/body.ts';
import { chooseModel, servingOf } from '../models.ts';
import type { RequestContext } from '../request-context.ts';
import { profileOf } from '../submission/research-request.ts';
import { type ResponseRequest, readResponse, submitResponse } from '../submission/response-request.ts';
import { findRepeatedRun } from '../submission/submit-run.ts';

/** `POST /v1/responses` (docs/api.md). A disconnect does not stop the run. */
export async function createResponse(deps: AppDeps, call: Call): Promise<Answer> {
  const { req, res, identity } = call;
  const { key, context } = identity;
  const body = await readJson(call);
  const { name, model } = chooseModel(identity, body.json.model, 'responses');
  if (model.kind === 'proxy' && !servingOf(identity, name, model).makesResponses) {
    return await forwardJson(deps, call, { body, modelName: name, model, api: 'responses' });
  }
  const isPlain = model.kind === 'proxy';
  const streams = !isPlain && profileOf({ key, model }) !== 'openai' && !acceptsOnlyJson(req.headers.accept);
  const options = { streams, mayDoBoth: isPlain };
  let request: ResponseRequest;
  try {
    request = await readResponse(deps, identity, { body, name, model });
  } catch (refusal) {
    const run = await findRepeatedRun(deps, call, body.raw);
    if (!run) throw refusal;
    const { stream, background } = body.json;
    const wanted = { background: background === true, ...(typeof stream === 'boolean' && { stream }) };
    return answerOf(deps, context, { run, mode: deliveryOf(wanted, options) });
  }
  const { value, headers } = request;
  const mode = deliveryOf(value, options);
  const { run, replayed, submission } = await submitResponse(deps, { req, res, identity, request });
  // The executor may have started already: a new run is shown as it was submitted.
  return answerOf(deps, context, { run, mode, headers, ...(!replayed && { first: createdResponse(run, submission) }) });
}

/** The answer of a run. `first`: what a client gets that does not wait; without it the response as it is now. */
async function answerOf(
  deps: AppDeps,
  context: RequestContext,
  {
    run,
    mode,
    headers = {},
    first,
  }: { run: RunRecord; mode: Delivery; headers?: Record<string, string>; first?: ResponseObject },
): Promise<Answer> {
  if (mode === 'stream') return { kind: 'stream', headers, chunks: readFrames(deps, run, { after: 0, context }) };
  if (mode === 'background') return json(first ?? (await deps.runs.response(run)), { headers });
  return {
    kind: 'waiting',
    headers,
    text: async () => JSON.stringify(await deps.runs.waitForEnd(run, { signal: context.signal })),
  };
}

type Delivery = 'stream' | 'wait' | 'background';

/**
 * How the answer is delivered. `stream` in the body wins. Without it `streams` decides: clients that accept only JSON, as
 * the official SDKs do, get JSON, and so does everybody with OpenAI's profile. `mayDoBoth`: a background response may also
 * be streamed, which plain models allow because OpenAI's API does.
 */
function deliveryOf(
  { stream, background }: Pick<CreateResponse, 'stream' | 'background'>,
  { streams, mayDoBoth }: { streams: boolean; mayDoBoth: boolean },
): Delivery {
  if (background === true) {
    if (stream !== true) return 'background';
    if (mayDoBoth) return 'stream';
    const what = 'cannot be combined with "stream": true. Submit, then stream GET /v1/responses/<id>.';
    throw fieldError('conflicting_parameters', 'background', what);
  }
  return (stream ?? streams) ? 'stream' : 'wait';
}

function acceptsOnlyJson(accept = ''): boolean {
  const types = accept.split(',').map((type) => type.split(';', 1)[0]?.trim().toLowerCase());
  return types.includes('application/json') && !types.includes('text/event-stream') && !types.includes('*/*');
}
