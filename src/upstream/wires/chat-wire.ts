import type { JsonObject } from '../../base/json.ts';
import { contentText } from '../../base/text.ts';
import { TurnDecoder } from '../decoding/turn-decoder.ts';
import { callExtras, replayOf } from '../dialects/requests/replay.ts';
import { objectArguments } from '../dialects/requests/tool-arguments.ts';
import { toolCallId } from '../dialects/requests/tool-call-ids.ts';
import { ToolNames } from '../dialects/requests/tool-names.ts';
import type { ChatBody } from '../dialects/requests/trait.ts';
import { shapeChat, shapedRequest } from '../dialects/requests/traits.ts';
import type { AssistantMessage, TurnMessage, TurnRequest, UserPart } from '../turn.ts';
import { isRefused } from './replayed.ts';
import type { BodyTarget, Wire, WireRequest } from './wire.ts';

/** OpenAI's chat completions, which nearly every provider offers. */
export const chatWire: Wire = {
  path: '/chat/completions',
  api: 'chat_completions',
  request: chatBody,
  reader: (options) => new TurnDecoder(options),
};

/** A streamed chat completion as this route wants it, with its tool names. */
function chatBody(turn: TurnRequest, target: BodyTarget): WireRequest {
  const request = shapedRequest(turn, target.traits, 'chat_completions');
  const { tools = [] } = request;
  const names = new ToolNames(tools.map((tool) => tool.name));
  const body: ChatBody = {
    model: target.model,
    messages: request.messages.flatMap((message) => chatMessage(message, target, names)),
    stream: true,
    stream_options: { include_usage: true },
    ...(tools.length > 0 && {
      tools: tools.map(({ name, description, parameters, strict }) => {
        const definition = { name: names.safe(name), description, parameters, ...(strict && { strict }) };
        return { type: 'function', function: definition };
      }),
      ...toolChoice(request, names),
      ...(request.oneCallAtOnce && { parallel_tool_calls: false }),
    }),
    ...(request.reasoningEffort !== undefined && { reasoning_effort: request.reasoningEffort }),
    ...(request.verbosity !== undefined && { verbosity: request.verbosity }),
    ...(request.cacheKey !== undefined && { prompt_cache_key: request.cacheKey }),
    ...(request.maxOutputTokens !== undefined && { max_tokens: request.maxOutputTokens }),
    ...(request.temperature !== undefined && { temperature: request.temperature }),
    ...(request.topP !== undefined && { top_p: request.topP }),
    ...(request.responseFormat && { response_format: request.responseFormat }),
    ...(request.logprobs !== undefined && {
      logprobs: true,
      ...(request.logprobs > 0 && { top_logprobs: request.logprobs }),
    }),
  };
  const tail = request.messages.slice(turn.stablePrefix ?? request.messages.length);
  shapeChat(body, target.traits, tail.flatMap((message) => chatMessage(message, target, names)).length);
  return { body, names };
}

function toolChoice({ toolChoice: choice = 'auto' }: TurnRequest, names: ToolNames): JsonObject {
  if (choice === 'auto') return {};
  if (typeof choice === 'string') return { tool_choice: choice };
  return { tool_choice: { type: 'function', function: { name: names.safe(choice.name) } } };
}

function chatMessage(message: TurnMessage, target: BodyTarget, names: ToolNames): JsonObject[] {
  switch (message.role) {
    case 'system':
      return [{ role: 'system', content: message.content }];
    case 'user':
      return [{ role: 'user', content: userContent(message.content) }];
    case 'tool':
      return [{ ...message, tool_call_id: toolCallId(message.tool_call_id, target.traits) }];
    case 'assistant':
      return assistantMessage(message, target, names);
  }
}

/** Text alone is sent as a string, which every server reads; anything else as parts. */
function userContent(content: string | UserPart[]): string | JsonObject[] {
  if (typeof content === 'string') return content;
  if (content.every((part) => part.type === 'text')) return contentText(content);
  return content.map((part) => ({ ...part }));
}

/** An empty assistant message is left out, because several providers refuse it. */
function assistantMessage(received: AssistantMessage, target: BodyTarget, names: ToolNames): JsonObject[] {
  const { provider, traits } = target;
  const { replay: _, ...plain } = received;
  const message = isRefused(received, target.run) ? plain : received;
  const calls = message.tool_calls ?? [];
  if (calls.length === 0 && message.content === '') return [];
  const replay = replayOf(message, provider, traits);
  if (calls.length === 0) return [{ role: 'assistant', content: message.content, ...replay }];
  return [
    {
      role: 'assistant',
      content: message.content === '' ? null : message.content,
      ...replay,
      tool_calls: calls.map((call) => ({
        id: toolCallId(call.id, traits),
        type: 'function',
        function: { name: names.safe(call.name), arguments: objectArguments(call.arguments) },
        ...callExtras(message, call.id, provider, traits),
      })),
    },
  ];
}
