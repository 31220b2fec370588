import { GatewayError } from '../../base/errors.ts';
import { publicId } from '../../base/ids.ts';
import { createTaskBody } from '../../protocol/requests/requests.ts';
import { type Answer, json } from '../answers/answer.ts';
import type { AppDeps } from '../app-deps.ts';
import type { Call, Endpoint } from '../endpoint.ts';
import { jsonForwarding } from '../forward.ts';
import { beginInTurn } from '../limits/bounds.ts';
import { oneAnswer, worstCase } from '../limits/worst-case.ts';
import { type JsonBody, readJson } from '../middleware/body.ts';
import { type ChosenModel, chooseModel } from '../models.ts';
import { parseSubmission } from '../submission/parse-submission.ts';
import { fromChat, sentItems } from '../submission/research-request.ts';
import { type RunSubmission, submitRun } from '../submission/submit-run.ts';
import { taskWebhook } from '../submission/webhook.ts';

/** `POST /v1/async` (docs/api.md, "Async"): a chat completion in the background. */
export function createTask(deps: AppDeps): Endpoint {
  return async (call) => {
    const { req, res, identity } = call;
    const body = await readJson(call);
    const chosen = chooseModel(identity, body.json.model, 'async');
    await beginInTurn(deps.submissions, identity.key.id, identity.context.signal);
    const { submission, worst, headers } = await taskOf(deps, call, { body, ...chosen });
    const { run } = await submitRun(deps, { req, res, identity, raw: body.raw, submission, worst });
    return created(
      { id: publicId('async', run.id), created_at: new Date(run.createdAt).toISOString(), model: run.model },
      headers,
    );
  };
}

/** The answer shows the submission, so that a replayed one is the same. */
function created(task: { id: string; created_at: string; model: string }, headers: Record<string, string>): Answer {
  const { id, created_at, model } = task;
  return json({ id, status: 'CREATED', created_at, model }, { status: 201, headers });
}

interface Task extends Pick<RunSubmission, 'submission' | 'worst'> {
  headers: Record<string, string>;
}

async function taskOf(
  deps: AppDeps,
  { identity: { key, caller, context } }: Call,
  { body, name, model }: ChosenModel & { body: JsonBody },
): Promise<Task> {
  const { raw, json: fields } = body;
  const common = { api: 'async', model: name, background: true, previousResponseId: null } as const;
  if (model.kind === 'proxy') {
    requireMessages(fields.messages);
    jsonForwarding(body);
    const { webhook, body: passed } = taskWebhook(body);
    return {
      submission: {
        ...common,
        request: { kind: 'proxy', body: passed },
        webhook,
        input: sentItems(fields.messages, 'text'),
        metadata: {},
      },
      worst: worstCase(
        { api: 'chat_completions', body: raw, fields },
        { ...model, routes: key.routes[name] ?? model.routes },
      ),
      headers: {},
    };
  }
  const { value, headers } = parseSubmission(createTaskBody, body, deps.config.current().tools);
  const { webhook, ...chat } = value;
  return {
    submission: {
      ...common,
      request: await fromChat(chat, { ...deps, caller, key, name, model, signal: context.signal }),
      input: sentItems(fields.messages, 'text'),
      metadata: value.metadata ?? {},
      webhook,
    },
    worst: oneAnswer(raw, value.max_completion_tokens ?? value.max_tokens ?? model.max_completion_tokens),
    headers,
  };
}

/** All that is asked of the messages for a proxy model: the rest is the provider's to judge. */
function requireMessages(messages: unknown): void {
  const param = 'messages';
  if (messages === undefined || messages === null) {
    throw new GatewayError('missing_parameter', 'messages: this field is required.', { param });
  }
  if (!Array.isArray(messages) || messages.length === 0) {
    throw new GatewayError('invalid_parameter', 'messages: expected an array that is not empty.', { param });
  }
}
