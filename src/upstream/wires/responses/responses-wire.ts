import { isObject, type JsonObject, type JsonValue } from '../../../base/json.ts';
import { callsLast } from '../../dialects/requests/calls-last.ts';
import { applyOutputBound } from '../../dialects/requests/output-limit.ts';
import { applyRefusedParameters } from '../../dialects/requests/refused-parameters.ts';
import { sentArguments } from '../../dialects/requests/tool-arguments.ts';
import { ToolNames } from '../../dialects/requests/tool-names.ts';
import type { AssistantMessage, TurnMessage, TurnRequest, UserPart } from '../../turn.ts';
import { replayedFields } from '../replayed-fields.ts';
import { withUniqueCallIds } from '../unique-call-ids.ts';
import type { BodyTarget, Wire, WireRequest } from '../wire.ts';
import { isClientCall, ResponsesReader, textOfParts } from './responses-reader.ts';

/**
 * OpenAI's Responses API as an upstream: stateless (`store: false`), with the reasoning encrypted in the answer and sent
 * back with the next request, so that it survives between turns.
 */
export const responsesWire: Wire = {
  path: '/responses',
  api: 'responses',
  request: responsesBody,
  reader: (options) => new ResponsesReader(options),
};

const CALL_IDS = { pattern: /^[\x21-\x7e]+$/, longest: 64 };

function responsesBody(request: TurnRequest, target: BodyTarget): WireRequest {
  const { traits } = target;
  const offered = request.toolChoice === 'none' && traits.refusedParameters.has('tool_choice') ? [] : request.tools;
  const names = new ToolNames((request.tools ?? []).map((tool) => tool.name));
  const messages = withUniqueCallIds(request.messages, CALL_IDS);
  const [first, ...rest] = messages;
  const instructions = first?.role === 'system' ? first.content : undefined;
  const input = (instructions === undefined ? messages : rest).flatMap((message) => inputOf(message, target, names));
  if (messages.at(-1)?.role === 'assistant') {
    input.push({ role: 'user', content: 'Go on exactly where you stopped. Repeat nothing.' });
  }
  const body: JsonObject = {
    model: target.model,
    ...(instructions === undefined ? {} : { instructions }),
    input,
    stream: true,
    store: false,
    include: ['reasoning.encrypted_content'],
    reasoning: { summary: 'auto' },
  };
  if (offered && offered.length > 0) {
    body.tools = offered.map(({ name, description, parameters }) => ({
      type: 'function',
      name: names.safe(name),
      description,
      parameters,
      // Left out it means true, which refuses free schemas.
      strict: false,
    }));
    if (request.toolChoice === 'none') body.tool_choice = 'none';
  }
  applyOutputBound(body, 'max_output_tokens', request.maxOutputTokens, traits);
  if (request.temperature !== undefined) body.temperature = request.temperature;
  if (request.topP !== undefined) body.top_p = request.topP;
  if (request.cacheKey !== undefined) body.prompt_cache_key = request.cacheKey;
  const format = formatOf(request.responseFormat);
  if (format) body.text = { format };
  applyRefusedParameters(body, traits);
  return { body, names };
}

function inputOf(message: TurnMessage, target: BodyTarget, names: ToolNames): JsonObject[] {
  switch (message.role) {
    case 'system':
      return [{ role: 'system', content: message.content }];
    case 'user':
      return [{ role: 'user', content: userContent(message.content) }];
    case 'tool':
      return [{ type: 'function_call_output', call_id: message.tool_call_id, output: message.content }];
    case 'assistant':
      return inOrder(replayed(message, target, names) ?? plainItems(message, names), target);
  }
}

function inOrder(items: JsonObject[], { traits }: BodyTarget): JsonObject[] {
  return traits.callsLast ? callsLast(items) : items;
}

function userContent(content: string | UserPart[]): JsonValue {
  if (typeof content === 'string') return content;
  return content.map(
    (part): JsonObject =>
      part.type === 'text'
        ? { type: 'input_text', text: part.text }
        : { type: 'input_image', image_url: part.image_url.url, detail: 'auto' },
  );
}

/**
 * The items as they were received, all with their ids and in their order: the service takes them back so or not at all.
 * Undefined where they do not say what the message says: it was changed since, or comes from elsewhere.
 */
function replayed(message: AssistantMessage, target: BodyTarget, names: ToolNames): JsonObject[] | undefined {
  const output = replayedFields(message, target)?.output;
  if (!Array.isArray(output)) return undefined;
  const items = output.filter(isJsonObject);
  const calls = items.filter(isClientCall);
  const text = items.map((item) => (item.type === 'message' ? textOfParts(item.content) : '')).join('');
  const kept = message.tool_calls ?? [];
  if (text.trim() !== message.content.trim() || calls.length !== kept.length) return undefined;
  if (calls.some((item, n) => names.original(String(item.name)) !== kept[n]?.name)) return undefined;
  const isSigned = items.every((item) => item.type !== 'reasoning' || hasContent(item));
  if (!isSigned) return undefined;
  const ids = new Map(calls.map((item, n) => [item, kept[n]?.id ?? '']));
  return items.map((item) => {
    const { status: _, ...sent } = item;
    const id = ids.get(item);
    if (id === undefined) return item.type === 'reasoning' ? { ...sent, summary: sent.summary ?? [] } : sent;
    return { ...sent, call_id: id };
  });
}

/** Without `store` reasoning is found again only in itself: encrypted, or in plain text of open models. */
function hasContent({ encrypted_content: encrypted, content }: JsonObject): boolean {
  return (typeof encrypted === 'string' && encrypted !== '') || (Array.isArray(content) && content.length > 0);
}

/** Messages and calls without ids: what any provider takes, with the thoughts lost. */
function plainItems(message: AssistantMessage, names: ToolNames): JsonObject[] {
  const items: JsonObject[] = [];
  if (message.content !== '') items.push({ role: 'assistant', content: message.content });
  for (const call of message.tool_calls ?? []) {
    const text = sentArguments(call.arguments);
    items.push({ type: 'function_call', call_id: call.id, name: names.safe(call.name), arguments: text });
  }
  return items;
}

/** `response_format` of chat completions as `text.format`. */
function formatOf(format: JsonObject | undefined): JsonObject | undefined {
  if (format === undefined) return undefined;
  const schema = format.json_schema;
  return isJsonObject(schema) ? { type: 'json_schema', ...schema } : format;
}

function isJsonObject(value: unknown): value is JsonObject {
  return isObject(value);
}
