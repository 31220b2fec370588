import { fieldError } from '../../base/errors.ts';
import { publicId } from '../../base/ids.ts';
import type { ToolsConfig } from '../../config/schema.ts';
import { plainTaskBody } from '../../protocol/requests/plain-chat.ts';
import { createTaskBody } from '../../protocol/requests/requests.ts';
import { type Answer, json } from '../answers/answer.ts';
import type { AppDeps } from '../app-deps.ts';
import type { Call } from '../endpoint.ts';
import { findModelSpan } from '../forward.ts';
import { waitForTurn } from '../limits/bounds.ts';
import { worstCase, worstCaseOfAnswer } from '../limits/worst-case.ts';
import { type JsonBody, readJson } from '../middleware/body.ts';
import { type ChosenModel, chatAbilities, chooseModel, gatewayMakesChat } from '../models.ts';
import { normalizeItems } from '../submission/input-items.ts';
import { parseSubmission } from '../submission/parse-submission.ts';
import { fromPlainChat, parsePlainChat } from '../submission/plain-chat-request.ts';
import { fromChat } from '../submission/research-request.ts';
import { type RunSubmission, submitRun } from '../submission/submit-run.ts';
import { taskWebhook } from '../submission/webhook.ts';

/** `POST /v1/async` (docs/api.md, "Async"): a chat completion in the background. */
export async function createTask(deps: AppDeps, call: Call): Promise<Answer> {
  const { req, res, identity } = call;
  const body = await readJson(call);
  const chosen = chooseModel(identity, body.json.model, 'async');
  await waitForTurn(deps.submissions, identity.key.id, identity.context.signal);
  const { headers, ...task } = await taskOf(deps, call, { body, ...chosen });
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
  { identity }: Call,
  { body, name, model }: ChosenModel & { body: JsonBody },
): Promise<Task> {
  const { key, caller, context } = identity;
  const { raw, json: fields } = body;
  const common = { api: 'async', model: name, background: true, previousResponseId: null } as const;
  if (model.kind === 'proxy' && !gatewayMakesChat(identity, name, model)) {
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
  const { tools, store } = deps.config.current();
  const saveOptions = { user: caller.user, keepMs: store.retentionMs, field: 'messages' } as const;
  await deps.attachments.saveFiles(fields.messages, saveOptions);
  const parts = { ...deps, caller, key, name };
  const { value, headers, request } =
    model.kind === 'proxy'
      ? await plainTask(body, { ...parts, model, ...chatAbilities(identity, name, model) })
      : await researchTask(body, { ...parts, model, toolsConfig: tools, signal: context.signal });
  return {
    submission: {
      ...common,
      request,
      input: normalizeItems(fields.messages, 'text'),
      metadata: value.metadata ?? {},
      webhook: value.webhook,
    },
    tools: value.tools,
    worst: worstCaseOfAnswer(body, value.max_completion_tokens ?? value.max_tokens ?? model.max_completion_tokens),
    headers,
  };
}

/** A task on a model whose chat completions the gateway makes itself. */
async function plainTask(
  body: JsonBody,
  context: Parameters<typeof fromPlainChat>[1] & ReturnType<typeof chatAbilities>,
) {
  const { value, headers } = parsePlainChat(plainTaskBody, body, context);
  return { value, headers, request: await fromPlainChat(value, context) };
}

async function researchTask(body: JsonBody, context: Parameters<typeof fromChat>[1] & { toolsConfig: ToolsConfig }) {
  const { value, headers } = parseSubmission(createTaskBody, body, context.toolsConfig);
  const { webhook: _, ...chat } = value;
  return { value, headers, request: await fromChat(chat, context) };
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
