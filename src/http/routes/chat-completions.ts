import { toSeconds } from '../../base/clock.ts';
import { createChatCompletion } from '../../protocol/requests/requests.ts';
import { toChatCompletion } from '../../runs/projections/chat.ts';
import { chatStream } from '../../runs/projections/chat-stream.ts';
import type { RunRecord } from '../../runs/runs.ts';
import { beginChatStream, runError } from '../answers/chat-stream.ts';
import type { WaitingAnswer } from '../answers/waiting.ts';
import type { AppDeps } from '../app-deps.ts';
import type { Endpoint } from '../endpoint.ts';
import { forward, jsonForwarding } from '../forward.ts';
import { beginInTurn } from '../limits/bounds.ts';
import { oneAnswer } from '../limits/worst-case.ts';
import { readJson } from '../middleware/body.ts';
import { chooseModel } from '../models.ts';
import type { RequestContext } from '../request-context.ts';
import { parseSubmission } from '../submission/parse-submission.ts';
import { fromChat, sentItems } from '../submission/research-request.ts';
import { submitRun } from '../submission/submit-run.ts';

/** `POST /v1/chat/completions` (contract section 7). Leaving the connection cancels a research run. */
export function chatCompletions(deps: AppDeps): Endpoint {
  return async (call) => {
    const { req, res, identity } = call;
    const { key, caller, config, context } = identity;
    const body = await readJson(call);
    const { name, model } = chooseModel(identity, body.json.model, 'chat_completions');
    if (model.kind === 'proxy') {
      return await forward(deps, call, { ...jsonForwarding(body), modelName: name, model, api: 'chat_completions' });
    }
    await beginInTurn(deps.submissions, key.id, context.signal);
    const { value, headers } = parseSubmission(createChatCompletion, body, deps.config.current().tools);
    const request = await fromChat(value, { ...deps, caller, key, name, model, signal: context.signal });
    const { run } = await submitRun(deps, {
      req,
      res,
      identity,
      raw: body.raw,
      worst: oneAnswer(body.raw, value.max_completion_tokens ?? value.max_tokens ?? model.max_completion_tokens),
      submission: {
        api: 'chat_completions',
        model: name,
        request,
        input: sentItems(body.json.messages, 'text'),
        background: false,
        metadata: value.metadata ?? {},
        previousResponseId: null,
      },
    });
    cancelWhenLeft(deps, run, context);
    if (value.stream !== true) return wholeCompletion(deps, run, { headers, context });
    const batches = deps.runs.follow(run, { after: 0, signal: context.signal });
    const stream = chatStream(batches, {
      id: run.id,
      model: name,
      created: toSeconds(run.createdAt),
      includeUsage: value.stream_options?.include_usage === true,
    });
    const chunks = await beginChatStream(stream, { holdMs: config.server.heartbeatMs });
    return { kind: 'stream', headers, chunks };
  };
}

/** Promise 6 of the architecture: a chat completion does not outlive its connection. */
function cancelWhenLeft({ runs, log }: AppDeps, run: RunRecord, { signal, id }: RequestContext): void {
  const cancel = () => {
    runs.cancel(run).catch((thrown) => log.warn({ req: id, err: thrown }, 'cancelling an abandoned run failed'));
  };
  if (signal.aborted) cancel();
  else signal.addEventListener('abort', cancel, { once: true });
}

function wholeCompletion(
  { runs }: AppDeps,
  run: RunRecord,
  { headers, context }: { headers: Record<string, string>; context: RequestContext },
): WaitingAnswer {
  return {
    kind: 'waiting',
    headers,
    async text(state) {
      const response = await runs.ended(run, { signal: context.signal });
      // Once white space has gone out, the failure stands in the completion.
      if (!state.started && response.status !== 'completed') throw runError(response.error);
      return JSON.stringify(toChatCompletion(response));
    },
  };
}
