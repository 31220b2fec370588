import { toSeconds } from '../../base/clock.ts';
import type { ApiError } from '../../protocol/errors.ts';
import { plainChatBody } from '../../protocol/requests/plain-chat.ts';
import { createChatCompletionBody } from '../../protocol/requests/requests.ts';
import { toChatCompletion } from '../../runs/projections/chat.ts';
import { chatStream, RESEARCH_STREAM } from '../../runs/projections/chat-stream.ts';
import { PLAIN_STREAM, toPlainCompletion } from '../../runs/projections/plain-chat.ts';
import type { RunRecord } from '../../runs/runs.ts';
import type { Answer } from '../answers/answer.ts';
import { beginChatStream, runError } from '../answers/chat-stream.ts';
import type { WaitingAnswer } from '../answers/waiting.ts';
import type { AppDeps } from '../app-deps.ts';
import type { Call } from '../endpoint.ts';
import { forwardJson } from '../forward.ts';
import { waitForTurn } from '../limits/bounds.ts';
import { readJson } from '../middleware/body.ts';
import { chooseModel, servingOf } from '../models.ts';
import type { RequestContext } from '../request-context.ts';
import { readChatRequest } from '../submission/chat-request.ts';
import { submitRun } from '../submission/submit-run.ts';

const schemas = { plain: plainChatBody, research: createChatCompletionBody };

/** `POST /v1/chat/completions` (docs/api.md, "Chat completions"). A disconnect cancels the run. */
export async function chatCompletions(deps: AppDeps, call: Call): Promise<Answer> {
  const { req, res, identity } = call;
  const { key, config, context } = identity;
  const body = await readJson(call);
  const { name, model } = chooseModel(identity, body.json.model, 'chat_completions');
  if (model.kind === 'proxy' && !servingOf(identity, name, model).makesChat) {
    return await forwardJson(deps, call, { body, modelName: name, model, api: 'chat_completions' });
  }
  await waitForTurn(deps.submissions, key.id, context.signal);
  // Files are kept only for as long as a run may take, because clients send the whole chat each time.
  const keepMs = config.runs.maxRunMs;
  const { value, headers, submission, ...read } = await readChatRequest(deps, identity, {
    body,
    name,
    model,
    schemas,
    keepMs,
  });
  const common = { api: 'chat_completions', model: name, background: false, previousResponseId: null } as const;
  const { run } = await submitRun(deps, {
    req,
    res,
    identity,
    raw: body.raw,
    ...read,
    submission: { ...common, ...submission },
  });
  cancelOnDisconnect(deps, run, context);
  const format = model.kind === 'proxy' ? PLAIN : RESEARCH;
  if (value.stream !== true) return waitForCompletion(deps, run, { headers, context, format });
  const batches = deps.runs.follow(run, { after: 0, signal: context.signal });
  const includeUsage = value.stream_options?.include_usage === true;
  const options = { id: run.id, model: name, created: toSeconds(run.createdAt), includeUsage };
  const stream = chatStream(batches, options, format.stream);
  const onError = ({ code }: ApiError) => {
    context.error = code;
  };
  const chunks = await beginChatStream(stream, { holdMs: config.server.heartbeatMs, onError });
  return { kind: 'stream', headers, chunks };
}

/** How a run is presented as a chat completion. */
const RESEARCH = { stream: RESEARCH_STREAM, whole: toChatCompletion };
const PLAIN = { stream: PLAIN_STREAM, whole: toPlainCompletion };

/** Promise 6 of the architecture: a chat completion does not outlive its connection. */
function cancelOnDisconnect({ runs, log }: AppDeps, run: RunRecord, { signal, id }: RequestContext): void {
  const cancel = () => {
    runs.cancel(run).catch((thrown) => log.warn({ req: id, err: thrown }, 'cancelling an abandoned run failed'));
  };
  if (signal.aborted) cancel();
  else signal.addEventListener('abort', cancel, { once: true });
}

function waitForCompletion(
  { runs }: AppDeps,
  run: RunRecord,
  {
    headers,
    context,
    format,
  }: { headers: Record<string, string>; context: RequestContext; format: typeof RESEARCH | typeof PLAIN },
): WaitingAnswer {
  return {
    kind: 'waiting',
    headers,
    async text(state) {
      const response = await runs.waitForEnd(run, { signal: context.signal });
      // Once white space has been sent, the failure is reported in the completion.
      if (!state.started && response.error) throw runError(response.error);
      return JSON.stringify(format.whole(response));
    },
  };
}
