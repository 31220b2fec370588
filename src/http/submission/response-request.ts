import type { IncomingMessage, ServerResponse } from 'node:http';
import { fieldError } from '../../base/errors.ts';
import { isObject } from '../../base/json.ts';
import { type CreateResponse, createResponseBody } from '../../protocol/requests/requests.ts';
import type { Submission } from '../../runs/runs.ts';
import type { AppDeps, Identity } from '../app-deps.ts';
import { waitForTurn } from '../limits/bounds.ts';
import { worstCaseOfAnswer } from '../limits/worst-case.ts';
import type { JsonBody } from '../middleware/body.ts';
import { type ChosenModel, enforcesGrammars, reportsLogprobs } from '../models.ts';
import { RETRY_TTL_MS } from '../retries.ts';
import { keptItems } from './kept-items.ts';
import { parseSubmission } from './parse-submission.ts';
import { fromPlainResponse, offeredTools, parsePlain } from './plain-request.ts';
import { fromResponse, joinedBy, shownFunctions } from './research-request.ts';
import { submitRun } from './submit-run.ts';
import { responseWebhook } from './webhook.ts';

/** A response that is asked for, over HTTP or a WebSocket, and whom. */
interface Asked extends ChosenModel {
  body: JsonBody;
}

export type ReadResponse = Awaited<ReturnType<typeof readResponse>>;

/** What is asked of the model, by its kind. @throws GatewayError for everything that cannot be honoured. */
export async function readResponse(deps: AppDeps, identity: Identity, asking: Asked) {
  const { caller, key, context } = identity;
  await waitForTurn(deps.submissions, key.id, context.signal);
  const { body, name, model } = asking;
  const { tools, store, runs } = deps.config.current();
  // As long as the run may take where nothing of it is kept.
  const keepMs = body.json.store === false ? runs.maxRunMs : store.retentionMs;
  await deps.attachments.keepData(body.json.input, { user: caller.user, keepMs, field: 'input' });
  if (model.kind === 'proxy') {
    const offered = offeredTools(model, tools);
    const { value, headers } = parsePlain(body, {
      offered,
      tools,
      reportsLogprobs: reportsLogprobs(identity, name, model),
      enforcesGrammars: enforcesGrammars(identity, name, model),
    });
    const joined = await joinedBy(value, deps.conversations, caller);
    const asked = await fromPlainResponse(value, { ...deps, caller, key, name, model, offered, joined });
    return { ...asking, value, headers, joined, asked };
  }
  const { value, headers } = parseSubmission(createResponseBody, body, tools);
  const joined = await joinedBy(value, deps.conversations, caller);
  const request = await fromResponse(value, { ...deps, caller, key, name, model, joined, signal: context.signal });
  return { ...asking, value, headers, joined, asked: { request, ...shownFunctions(value, request) } };
}

/**
 * Submits it under the limits of its key. `how`: what of it is not in a body.
 * @throws GatewayError whatever refuses it.
 */
export async function submitResponse(
  deps: AppDeps,
  {
    req,
    res,
    identity,
    read,
    how,
  }: {
    req: IncomingMessage;
    /** Absent on a WebSocket. */
    res?: ServerResponse;
    identity: Identity;
    read: ReadResponse;
    how?: Pick<Submission, 'generate' | 'keepMs'>;
  },
) {
  const { name, model, body, value, joined, asked } = read;
  const { prompt_cache_options: cache } = body.json;
  // One that only prepares a cache: no provider is asked, and the input is kept.
  const keepsOnly = how?.generate === false || (isObject(cache) && cache.prewarm === true);
  if (keepsOnly && asked.request.kind === 'plain' && asked.request.approved) {
    throw fieldError('conflicting_parameters', 'generate', 'calls that are approved are made at once: leave it out.');
  }
  const submission = {
    ...storing(value, how?.keepMs),
    ...(keepsOnly && { generate: false as const }),
    model: name,
    ...asked,
    input: await keptItems(body.json.input, { runs: deps.runs, caller: identity.caller, field: 'input' }),
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

/** How long a response with `store: false` answers retries behind its end, in milliseconds: as long as they are remembered. */
const UNSTORED_MS = RETRY_TTL_MS;

/**
 * Whether a response is there behind its end.
 * @throws GatewayError `conflicting_parameters` where it has to be.
 */
function storing(
  { store, background, conversation }: Pick<CreateResponse, 'store' | 'background' | 'conversation'>,
  keepMs = UNSTORED_MS,
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
