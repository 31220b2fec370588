import { isObject, type JsonObject, scalarText } from '../../../base/json.ts';
import { withCallsLast } from '../../dialects/requests/calls-last.ts';
import { CONTINUE_PROMPT } from '../../dialects/requests/message-order.ts';
import { dropRefused } from '../../dialects/requests/refused-parameters.ts';
import { customText, objectArguments } from '../../dialects/requests/tool-arguments.ts';
import { ToolNames } from '../../dialects/requests/tool-names.ts';
import { shapedRequest } from '../../dialects/requests/traits.ts';
import type { AssistantMessage, TurnMessage, TurnRequest, UserPart } from '../../turn.ts';
import { replayedParts } from '../replayed.ts';
import { withUniqueCallIds } from '../unique-call-ids.ts';
import type { BodyTarget, Wire, WireRequest } from '../wire.ts';
import { isClientCall, ResponsesReader, textOfParts } from './responses-reader.ts';

/**
 * OpenAI's Responses API, used statelessly (`store: false`): the reasoning comes encrypted in the answer and is sent back
 * with the next request, so that it survives between turns.
 */
export const responsesWire: Wire = {
  path: '/responses',
  api: 'responses',
  endsWithEvent: true,
  request: responsesBody,
  reader: (options) => new ResponsesReader(options),
};

const CALL_IDS = { pattern: /^[\x21-\x7e]+$/, maxLength: 64 };

function responsesBody(turn: TurnRequest, target: BodyTarget): WireRequest {
  const request = shapedRequest(turn, target.traits, 'responses');
  const names = new ToolNames((turn.tools ?? []).map((tool) => tool.name));
  const messages = withUniqueCallIds(request.messages, CALL_IDS);
  const [first, ...rest] = messages;
  // Without any input the API refuses the request.
  const instructions = first?.role === 'system' && rest.length > 0 ? first.content : undefined;
  const custom = new Set((request.tools ?? []).flatMap(({ name, grammar }) => (grammar ? [name] : [])));
  const history = instructions === undefined ? messages : rest;
  const input = withCustomCalls(
    history.flatMap((message) => inputOf(message, target, names)),
    { custom, names },
  );
  if (messages.at(-1)?.role === 'assistant') input.push({ role: 'user', content: CONTINUE_PROMPT });
  const wantsLogprobs = request.logprobs !== undefined && !target.traits.refusedParameters.has('top_logprobs');
  const body: JsonObject = {
    model: target.model,
    ...(instructions !== undefined && { instructions }),
    input,
    stream: true,
    store: false,
    include: ['reasoning.encrypted_content', ...(wantsLogprobs ? ['message.output_text.logprobs'] : [])],
    ...(wantsLogprobs && { top_logprobs: request.logprobs }),
    reasoning: { summary: 'auto', ...(request.reasoningEffort !== undefined && { effort: request.reasoningEffort }) },
    ...toolsOf(request, names),
    ...(request.maxOutputTokens !== undefined && { max_output_tokens: request.maxOutputTokens }),
    ...(request.temperature !== undefined && { temperature: request.temperature }),
    ...(request.topP !== undefined && { top_p: request.topP }),
    ...(request.cacheKey !== undefined && { prompt_cache_key: request.cacheKey }),
    ...textOf(request, target),
  };
  dropRefused(body, target.traits);
  return { body, names };
}

function toolsOf({ tools = [], toolChoice = 'auto', oneCallAtOnce }: TurnRequest, names: ToolNames): JsonObject {
  if (tools.length === 0) return {};
  // An absent `strict` means true, which refuses schemas with open objects.
  const offered = tools.map(({ name, description, parameters, strict = false, grammar }): JsonObject => {
    if (grammar) return { type: 'custom', name: names.safe(name), description, format: { ...grammar } };
    return { type: 'function', name: names.safe(name), description, parameters, strict };
  });
  const isCustom = (chosen: string) => tools.some(({ name, grammar }) => name === chosen && grammar);
  const choice =
    typeof toolChoice === 'object'
      ? { type: isCustom(toolChoice.name) ? 'custom' : 'function', name: names.safe(toolChoice.name) }
      : toolChoice;
  return {
    tools: offered,
    ...(choice !== 'auto' && { tool_choice: choice }),
    ...(oneCallAtOnce && { parallel_tool_calls: false }),
  };
}

/** The items with calls of custom tools, and the outputs of all custom calls, in the form for custom tools. */
function withCustomCalls(
  items: readonly JsonObject[],
  { custom, names }: { custom: ReadonlySet<string>; names: ToolNames },
) {
  const calls = new Set<unknown>();
  return items.map((item): JsonObject => {
    if (item.type === 'function_call_output') {
      return calls.has(item.call_id) ? { ...item, type: 'custom_tool_call_output' } : item;
    }
    const isCall = item.type === 'function_call' && custom.has(names.original(scalarText(item.name)));
    if (isCall || item.type === 'custom_tool_call') calls.add(item.call_id);
    if (!isCall) return item;
    const { arguments: args, ...call } = item;
    return { ...call, type: 'custom_tool_call', input: customText(scalarText(args)) };
  });
}

function inputOf(message: TurnMessage, target: BodyTarget, names: ToolNames): JsonObject[] {
  switch (message.role) {
    case 'system':
      return [{ role: 'system', content: message.content }];
    case 'user': {
      const { content } = message;
      return [{ role: 'user', content: typeof content === 'string' ? content : content.map(inputPart) }];
    }
    case 'tool':
      return [{ type: 'function_call_output', call_id: message.tool_call_id, output: message.content }];
    case 'assistant': {
      const items = replayedItems(message, target, names) ?? plainItems(message, names);
      return target.traits.callsLast ? withCallsLast(items) : items;
    }
  }
}

function inputPart(part: UserPart): JsonObject {
  switch (part.type) {
    case 'text':
      return { type: 'input_text', text: part.text };
    case 'image_url':
      return { type: 'input_image', image_url: part.image_url.url, detail: part.image_url.detail ?? 'auto' };
    case 'file':
      return { type: 'input_file', ...part.file };
    case 'input_audio':
      return part;
  }
}

/**
 * The items as received, all with their ids and in their order: the service accepts them back only so. Undefined where
 * they do not match the message, because it was changed since or comes from another provider.
 */
function replayedItems(message: AssistantMessage, target: BodyTarget, names: ToolNames): JsonObject[] | undefined {
  const items = replayedParts(message, 'output', target);
  if (!items) return undefined;
  const calls = items.filter(isClientCall);
  const text = items.map((item) => (item.type === 'message' ? textOfParts(item.content) : '')).join('');
  const stored = message.tool_calls ?? [];
  if (text.trim() !== message.content.trim() || calls.length !== stored.length) return undefined;
  if (calls.some((item, n) => names.original(scalarText(item.name)) !== stored[n]?.name)) return undefined;
  if (items.some((item) => item.type === 'reasoning' && !hasReasoning(item))) return undefined;
  const ids = new Map(calls.map((item, n) => [item, stored[n]?.id ?? '']));
  return items.map((item) => {
    const { status: _, ...sent } = item;
    const id = ids.get(item);
    if (id === undefined) return item.type === 'reasoning' ? { ...sent, summary: sent.summary ?? [] } : sent;
    return { ...sent, call_id: id };
  });
}

/** Without `store`, the item itself must hold the reasoning: encrypted, or as plain text from open models. */
function hasReasoning({ encrypted_content: encrypted, content }: JsonObject): boolean {
  return (typeof encrypted === 'string' && encrypted !== '') || (Array.isArray(content) && content.length > 0);
}

/**
 * Messages and calls without item ids, which any provider accepts; the reasoning is lost. llama.cpp knows a message of the
 * assistant only by its type.
 */
function plainItems(message: AssistantMessage, names: ToolNames): JsonObject[] {
  const items: JsonObject[] = [];
  if (message.content !== '') items.push({ type: 'message', role: 'assistant', content: message.content });
  for (const call of message.tool_calls ?? []) {
    const text = objectArguments(call.arguments);
    items.push({ type: 'function_call', call_id: call.id, name: names.safe(call.name), arguments: text });
  }
  return items;
}

function textOf({ responseFormat, verbosity }: TurnRequest, { traits }: BodyTarget): JsonObject {
  const text: JsonObject = {
    ...(responseFormat && { format: formatOf(responseFormat) }),
    ...(verbosity !== undefined && !traits.refusedParameters.has('verbosity') && { verbosity }),
  };
  return Object.keys(text).length > 0 ? { text } : {};
}

/** `response_format` of chat completions as `text.format`. */
function formatOf(format: JsonObject): JsonObject {
  const { json_schema: schema } = format;
  return isObject(schema) ? { type: 'json_schema', ...schema } : format;
}
