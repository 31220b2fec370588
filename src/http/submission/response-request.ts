import type { IncomingMessage, ServerResponse } from 'node:http';
import { fieldError } from '../../base/errors.ts';
import { isObject } from '../../base/json.ts';
import { type CreateResponse, createResponseBody } from '../../protocol/requests/requests.ts';
import type { Submission } from '../../runs/submission.ts';
import type { AppDeps, Identity } from '../app-deps.ts';
import { waitForTurn } from '../limits/bounds.ts';
import { worstCaseOfAnswer } from '../limits/worst-case.ts';
import type { JsonBody } from '../middleware/body.ts';
import { type ChosenModel, servingOf } from '../models.ts';
import { RETRY_TTL_MS } from '../retries.ts';
import { dereferenceItems } from './input-items.ts';
import { parseSubmission } from './parse-submission.ts';
import { fromPlainResponse, offeredTools, parsePlain } from './plain-request.ts';
import { fromResponse, joinConversation, shownFunctions } from './research-request.ts';
import { submitRun } from './submit-run.ts';
import { responseWebhook } from './webhook.ts';

/** A request for a response, over HTTP or a WebSocket, and its model. */
interface RequestedResponse extends ChosenModel {
  body: JsonBody;
}

export type ResponseRequest = Awaited<ReturnType<typeof readResponse>>;

/** Turns the body into a request for the model's kind. @throws GatewayError for everything that cannot be honoured. */
export async function readResponse(deps: AppDeps, identity: Identity, requested: RequestedResponse) {
  const { caller, key, context } = identity;
  const { signal } = context;
  await waitForTurn(deps.submissions, key.id, signal);
  const { body, name, model } = requested;
  const { tools, store, runs } = deps.config.current();
  const isUnstored = body.json.store === false;
  // For a response that is not stored, only as long as its run may take.
  const kept = isUnstored ? { keepMs: runs.maxRunMs, sealedBy: key.id } : { keepMs: store.retentionMs };
  const keeping = { ...kept, context };
  await deps.attachments.saveFiles(body.json.input, caller, { ...keeping, field: 'input' });
  if (model.kind === 'proxy') {
    const offered = offeredTools(model, tools);
    const { value, headers } = parsePlain(body, { offered, tools, ...servingOf(identity, name, model) });
    const joined = await joinConversation(value, deps.conversations, caller);
    const prepared = await fromPlainResponse(value, {
      ...deps,
      caller,
      key,
      name,
      model,
      offered,
      joined,
      keeping,
      signal,
    });
    return { ...requested, value, headers, joined, prepared };
  }
  const { value, headers } = parseSubmission(createResponseBody, body, tools);
  const joined = await joinConversation(value, deps.conversations, caller);
  const request = await fromResponse(value, { ...deps, caller, key, name, model, joined, keeping, signal });
  return { ...requested, value, headers, joined, prepared: { request, ...shownFunctions(value, request) } };
}

/**
 * Submits a response under the limits of its key. `options`: those that are no parameters of the body.
 * @throws GatewayError if it is refused.
 */
export async function submitResponse(
  deps: AppDeps,
  {
    req,
    res,
    identity,
    request,
    options,
  }: {
    req: IncomingMessage;
    /** Absent on a WebSocket. */
    res?: ServerResponse;
    identity: Identity;
    request: ResponseRequest;
    options?: Pick<Submission, 'generate' | 'keepMs'>;
  },
) {
  const { name, model, body, value, joined, prepared } = request;
  const { prompt_cache_options: cache } = body.json;
  // Such a request only prepares a cache: the input is stored, and no provider is called.
  const storesOnly = options?.generate === false || (isObject(cache) && cache.prewarm === true);
  if (storesOnly && prepared.request.kind === 'plain' && prepared.request.approved) {
    throw fieldError('conflicting_parameters', 'generate', 'calls that are approved are made at once: leave it out.');
  }
  const submission = {
    ...storageOf(value, options?.keepMs),
    ...(storesOnly && { generate: false as const }),
    model: name,
    ...prepared,
    input: await dereferenceItems(body.json.input, { runs: deps.runs, caller: identity.caller, field: 'input' }),
    background: value.background === true,
    webhook: responseWebhook(value),
    metadata: value.metadata ?? {},
    previousResponseId: value.previous_response_id ?? null,
    conversation: joined?.joined,
  };
  const worst = worstCaseOfAnswer(body, value.max_output_tokens ?? model.max_completion_tokens);
  const submitted = await submitRun(deps, { req, res, identity, raw: body.raw, worst, submission, tools: value.tools });
  return { ...submitted, submission };
}

/** How long a response with `store: false` can answer retries after its end, in milliseconds: as long as they are recognised. */
const UNSTORED_TTL_MS = RETRY_TTL_MS;

/**
 * Whether, and how long, a response is stored after its end.
 * @throws GatewayError `conflicting_parameters` if `store: false` contradicts the rest of the body.
 */
function storageOf(
  { store, background, conversation }: Pick<CreateResponse, 'store' | 'background' | 'conversation'>,
  keepMs = UNSTORED_TTL_MS,
): Pick<Submission, 'api' | 'keepMs'> {
  if (store !== false) return { api: 'responses' };
  if (background === true) {
    const message = 'false cannot be combined with "background": true: nobody could read the response.';
    throw fieldError('conflicting_parameters', 'store', message);
  }
  if (conversation !== undefined) {
    const message = 'false cannot be combined with conversation, which keeps what was said.';
    throw fieldError('conflicting_parameters', 'store', message);
  }
  return { api: 'unstored', keepMs };
}
