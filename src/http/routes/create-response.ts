import { GatewayError } from '../../base/errors.ts';
import { type CreateResponse, createResponseBody } from '../../protocol/requests/requests.ts';
import { createdResponse } from '../../runs/submitting/new-run.ts';
import { json } from '../answers/answer.ts';
import { readFrames } from '../answers/run-stream.ts';
import type { AppDeps } from '../app-deps.ts';
import type { Endpoint } from '../endpoint.ts';
import { forward, jsonForwarding } from '../forward.ts';
import { beginInTurn } from '../limits/bounds.ts';
import { oneAnswer } from '../limits/worst-case.ts';
import { readJson } from '../middleware/body.ts';
import { chooseModel } from '../models.ts';
import { parseSubmission } from '../submission/parse-submission.ts';
import { fromResponse, profileOf, sentItems } from '../submission/research-request.ts';
import { submitRun } from '../submission/submit-run.ts';

/** `POST /v1/responses` (contract section 3). Leaving the connection does not stop the run. */
export function createResponse(deps: AppDeps): Endpoint {
  return async (call) => {
    const { req, res, identity } = call;
    const { key, caller, context } = identity;
    const body = await readJson(call);
    const { name, model } = chooseModel(identity, body.json.model, 'responses');
    if (model.kind === 'proxy') {
      return await forward(deps, call, { ...jsonForwarding(body), modelName: name, model, api: 'responses' });
    }
    await beginInTurn(deps.submissions, key.id, context.signal);
    const { value, headers } = parseSubmission(createResponseBody, body, deps.config.current().tools);
    const streams = profileOf({ key, model }) !== 'openai' && !wantsJsonOnly(req.headers.accept);
    const mode = deliveryOf(value, { streams });
    const request = await fromResponse(value, { ...deps, caller, key, name, model, signal: context.signal });
    const submission = {
      api: 'responses' as const,
      model: name,
      request,
      input: sentItems(body.json.input, 'input_text'),
      background: mode === 'background',
      metadata: value.metadata ?? {},
      previousResponseId: value.previous_response_id ?? null,
    };
    const { run, replayed } = await submitRun(deps, {
      req,
      res,
      identity,
      raw: body.raw,
      worst: oneAnswer(body.raw, value.max_output_tokens ?? model.max_completion_tokens),
      submission,
    });
    if (mode === 'stream') return { kind: 'stream', headers, chunks: readFrames(deps, run, { after: 0, context }) };
    if (mode === 'background') {
      // The executor may have gone on since: a new run is shown as it was submitted, an earlier one as it is now.
      return json(replayed ? await deps.runs.response(run) : createdResponse(run, submission), { headers });
    }
    return {
      kind: 'waiting',
      headers,
      text: async () => JSON.stringify(await deps.runs.ended(run, { signal: context.signal })),
    };
  };
}

type Delivery = 'stream' | 'wait' | 'background';

/**
 * How the answer is delivered. `stream` in the body wins; without it, a client that says it reads JSON and no stream
 * gets JSON: the official SDKs say so on every call. So does everybody whose key or model has the profile of OpenAI.
 */
function deliveryOf({ stream, background }: CreateResponse, { streams }: { streams: boolean }): Delivery {
  if (background === true) {
    if (stream !== true) return 'background';
    const message = 'background: cannot be combined with "stream": true. Submit, then stream GET /v1/responses/<id>.';
    throw new GatewayError('conflicting_parameters', message, { param: 'background' });
  }
  return (stream ?? streams) ? 'stream' : 'wait';
}

function wantsJsonOnly(accept = ''): boolean {
  const types = accept.split(',').map((type) => type.split(';', 1)[0]?.trim().toLowerCase());
  return types.includes('application/json') && !types.includes('text/event-stream') && !types.includes('*/*');
}
