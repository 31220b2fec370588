import { fieldError } from '../../base/errors.ts';
import type { CreateResponse } from '../../protocol/requests/requests.ts';
import { createdResponse } from '../../runs/submitting/new-run.ts';
import { type Answer, json } from '../answers/answer.ts';
import { readFrames } from '../answers/run-stream.ts';
import type { AppDeps } from '../app-deps.ts';
import type { Call } from '../endpoint.ts';
import { forwardJson } from '../forward.ts';
import { readJson } from '../middleware/body.ts';
import { chooseModel, gatewayMakesResponses } from '../models.ts';
import { profileOf } from '../submission/research-request.ts';
import { readResponse, submitResponse } from '../submission/response-request.ts';

/** `POST /v1/responses` (docs/api.md). A disconnect does not stop the run. */
export async function createResponse(deps: AppDeps, call: Call): Promise<Answer> {
  const { req, res, identity } = call;
  const { key, context } = identity;
  const body = await readJson(call);
  const { name, model } = chooseModel(identity, body.json.model, 'responses');
  if (model.kind === 'proxy' && !gatewayMakesResponses(identity, name, model)) {
    return await forwardJson(deps, call, { body, modelName: name, model, api: 'responses' });
  }
  const request = await readResponse(deps, identity, { body, name, model });
  const { value, headers } = request;
  const isPlain = model.kind === 'proxy';
  const streams = !isPlain && profileOf({ key, model }) !== 'openai' && !acceptsOnlyJson(req.headers.accept);
  const mode = deliveryOf(value, { streams, mayDoBoth: isPlain });
  const { run, replayed, submission } = await submitResponse(deps, { req, res, identity, request });
  if (mode === 'stream') return { kind: 'stream', headers, chunks: readFrames(deps, run, { after: 0, context }) };
  if (mode === 'background') {
    // The executor may have started already. A new run is shown as it was submitted, a replayed one as it is now.
    return json(replayed ? await deps.runs.response(run) : createdResponse(run, submission), { headers });
  }
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
