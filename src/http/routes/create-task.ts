import { fieldError } from '../../base/errors.ts';
import { publicId } from '../../base/ids.ts';
import { plainTaskBody } from '../../protocol/requests/plain-chat.ts';
import { createTaskBody } from '../../protocol/requests/requests.ts';
import { type Answer, json } from '../answers/answer.ts';
import type { AppDeps, Identity } from '../app-deps.ts';
import type { Call } from '../endpoint.ts';
import { findModelSpan } from '../forward.ts';
import { waitForTurn } from '../limits/bounds.ts';
import { worstCase } from '../limits/worst-case.ts';
import { type JsonBody, readJson } from '../middleware/body.ts';
import { type ChosenModel, chooseModel, servingOf } from '../models.ts';
import { readChatRequest } from '../submission/chat-request.ts';
import { normalizeItems } from '../submission/input-items.ts';
import { type RunSubmission, submitRun } from '../submission/submit-run.ts';
import { taskWebhook } from '../submission/webhook.ts';

const schemas = { plain: plainTaskBody, research: createTaskBody };

/** `POST /v1/async` (docs/api.md, "Async"): a chat completion in the background. */
export async function createTask(deps: AppDeps, call: Call): Promise<Answer> {
  const { req, res, identity } = call;
  const body = await readJson(call);
  const chosen = chooseModel(identity, body.json.model, 'async');
  await waitForTurn(deps.submissions, identity.key.id, identity.context.signal);
  const { headers, ...task } = await taskOf(deps, identity, { body, ...chosen });
  const { run } = await submitRun(deps, { req, res, identity, raw: body.raw, ...task });
  // The answer shows the task as it was submitted, so that a replayed one is identical.
  const [id, created_at] = [publicId('async', run.id), new Date(run.createdAt).toISOString()];
  return json({ id, status: 'CREATED', created_at, model: run.model }, { status: 201, headers });
}

interface Task extends Pick<RunSubmission, 'submission' | 'worst' | 'tools' | 'tagged'> {
  headers: Record<string, string>;
}

async function taskOf(
  deps: AppDeps,
  identity: Identity,
  { body, name, model }: ChosenModel & { body: JsonBody },
): Promise<Task> {
  const { key } = identity;
  const { raw, json: fields } = body;
  const common = { api: 'async', model: name, background: true, previousResponseId: null } as const;
  if (model.kind === 'proxy' && !servingOf(identity, name, model).makesChat) {
    requireMessages(fields.messages);
    findModelSpan(raw);
    const { webhook, body: providerBody } = taskWebhook(body);
    return {
      submission: {
        ...common,
        request: { kind: 'proxy', body: providerBody },
        webhook,
        input: normalizeItems(fields.messages, 'text'),
        metadata: {},
      },
      tagged: fields.metadata,
      worst: worstCase(
        { api: 'chat_completions', body: raw, fields },
        { ...model, routes: key.routes[name] ?? model.routes },
      ),
      headers: {},
    };
  }
  const { retentionMs: keepMs } = deps.config.current().store;
  const { value, submission, ...read } = await readChatRequest(deps, identity, { body, name, model, schemas, keepMs });
  return { ...read, submission: { ...common, ...submission, webhook: value.webhook } };
}

/** Checks that there are messages. For a proxy model the provider judges the rest. */
function requireMessages(messages: unknown): void {
  const param = 'messages';
  if (messages === undefined || messages === null)
    throw fieldError('missing_parameter', param, 'this field is required.');
  if (!Array.isArray(messages) || messages.length === 0) {
    throw fieldError('invalid_parameter', param, 'expected an array that is not empty.');
  }
}
