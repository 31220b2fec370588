import type { z } from 'zod';
import { fieldError } from '../../base/errors.ts';
import type { PlainRequest } from '../../plain/request.ts';
import { parseBody } from '../../protocol/requests/parse.ts';
import type { PlainChatBody, plainChatBody, plainTaskBody } from '../../protocol/requests/plain-chat.ts';
import type { createChatCompletionBody, createTaskBody } from '../../protocol/requests/requests.ts';
import type { AppDeps, Identity } from '../app-deps.ts';
import { worstCaseOfAnswer } from '../limits/worst-case.ts';
import type { JsonBody } from '../middleware/body.ts';
import { type ChosenModel, servingOf } from '../models.ts';
import { contentReadersFor, droppedItems } from './conversation.ts';
import { ignoredHeader } from './ignored.ts';
import { normalizeItems } from './input-items.ts';
import { type ParsedSubmission, parseSubmission } from './parse-submission.ts';
import { plainMessages } from './plain-messages.ts';
import { type PlainContext, plainTools } from './plain-request.ts';
import { createItemLookup } from './references.ts';
import { fromChat } from './research-request.ts';

/** The schemas of a body, by the kind of its model. */
interface ChatSchemas {
  plain: typeof plainChatBody | typeof plainTaskBody;
  research: typeof createChatCompletionBody | typeof createTaskBody;
}

/**
 * Turns the body of a chat completion that the gateway makes, or of a task of one, into what is submitted. Its files are
 * stored for `keepMs` milliseconds.
 * @throws GatewayError for everything that cannot be honoured.
 */
export async function readChatRequest<S extends ChatSchemas>(
  deps: AppDeps,
  identity: Identity,
  { body, name, model, schemas, keepMs }: ChosenModel & { body: JsonBody; schemas: S; keepMs: number },
) {
  const { caller, key, context } = identity;
  const keeping = { keepMs, context };
  await deps.attachments.saveFiles(body.json.messages, caller, { ...keeping, field: 'messages' });
  const read = async () => {
    const from = { ...deps, caller, key, name, keeping, signal: context.signal };
    if (model.kind === 'proxy') {
      const { value, headers } = parsePlainChat<S['plain']>(schemas.plain, body, servingOf(identity, name, model));
      return { value, headers, request: await fromPlainChat(value, { ...from, model }) };
    }
    const { value, headers } = parseSubmission<S['research']>(schemas.research, body, deps.config.current().tools);
    return { value, headers, request: await fromChat(value, { ...from, model }) };
  };
  const { value, headers, request } = await read();
  return {
    value,
    headers,
    submission: { request, input: normalizeItems(body.json.messages, 'text'), metadata: value.metadata ?? {} },
    tools: value.tools,
    worst: worstCaseOfAnswer(body, value.max_completion_tokens ?? value.max_tokens ?? model.max_completion_tokens),
  };
}

/**
 * Parses the body of a chat completion that the gateway makes itself. `reportsLogprobs`: a route reports the probabilities
 * of tokens; `stops`: a route honours stop sequences.
 * @throws GatewayError for everything in it that cannot be honoured.
 */
function parsePlainChat<T extends typeof plainChatBody | typeof plainTaskBody>(
  schema: T,
  { json }: JsonBody,
  { reportsLogprobs, stops }: { reportsLogprobs: boolean; stops: boolean },
): ParsedSubmission<z.output<T>> {
  const { value, ignored } = parseBody(schema, json);
  const { logprobs = false, top_logprobs: top = 0 } = value;
  if (logprobs && !reportsLogprobs) {
    throw fieldError('unsupported_parameter', 'logprobs', 'no provider of this model tells them: leave it out.');
  }
  if (top > 0 && !logprobs) throw fieldError('unsupported_parameter', 'top_logprobs', 'send logprobs: true with it.');
  if (value.stop && !stops) ignored.push('stop');
  if (value.verbosity !== undefined && !reportsLogprobs) ignored.push('verbosity');
  return { value, headers: ignoredHeader([...ignored, ...droppedItems(value.messages, 'messages')], json) };
}

/**
 * Turns a parsed body into a request to the plain loop (docs/api.md, "Chat completions of plain models").
 * @throws GatewayError `invalid_parameter` if calls and outputs do not match.
 */
async function fromPlainChat(
  body: PlainChatBody,
  { caller, model, runs, key, ...sealed }: Omit<PlainContext, 'offered' | 'joined'>,
): Promise<PlainRequest> {
  return {
    kind: 'plain',
    ...(await plainMessages(body.messages, {
      model,
      field: 'messages',
      findItem: createItemLookup(body.messages, { runs, caller, field: 'messages' }),
      ...contentReadersFor(caller, sealed, { canOpenUrls: false, window: model.context_length, takesPdf: model.files }),
      before: [],
    })),
    instructions: null,
    ...plainTools(body, { offered: [], key }),
    maxToolCalls: null,
    oneCallAtOnce: body.parallel_tool_calls === false,
    maxOutputTokens: body.max_completion_tokens ?? body.max_tokens ?? null,
    temperature: body.temperature ?? null,
    topP: body.top_p ?? null,
    ...(body.stop && { stop: body.stop }),
    format: body.response_format ?? null,
    reasoningEffort: body.reasoning_effort ?? null,
    ...(body.verbosity !== undefined && { verbosity: body.verbosity }),
    ...(body.logprobs && { logprobs: body.top_logprobs ?? 0 }),
    cacheKey: body.prompt_cache_key,
  };
}
