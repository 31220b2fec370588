import type { JsonObject } from '../../base/json.ts';
import { TurnDecoder } from '../decoding/turn-decoder.ts';
import { withInstruction } from '../dialects/requests/added-instruction.ts';
import { withCacheMarks } from '../dialects/requests/cache-marks.ts';
import { applyInstructionRole } from '../dialects/requests/instruction-role.ts';
import { applyMessageOrder } from '../dialects/requests/message-order.ts';
import { applyOutputLimit } from '../dialects/requests/output-limit.ts';
import { applyRefusedParameters, formatInstruction } from '../dialects/requests/refused-parameters.ts';
import { callExtras, replayOf } from '../dialects/requests/replay.ts';
import { sentArguments } from '../dialects/requests/tool-arguments.ts';
import { toolCallId } from '../dialects/requests/tool-call-ids.ts';
import { ToolNames } from '../dialects/requests/tool-names.ts';
import { textProtocol } from '../dialects/requests/tool-protocol.ts';
import { plainSchema } from '../dialects/requests/tool-schemas.ts';
import type { RequestTraits } from '../dialects/requests/traits.ts';
import type { AssistantMessage, TurnMessage, TurnRequest, TurnTool, UserPart } from '../turn.ts';
import type { BodyTarget, Wire, WireRequest } from './wire.ts';

/** OpenAI's chat completions, spoken by nearly everybody. */
export const chatWire: Wire = {
  path: '/chat/completions',
  api: 'chat_completions',
  request: chatBody,
  reader: (options) => new TurnDecoder(options),
};

/** A streamed chat completion as this route wants it, and how its tool names are read. */
function chatBody(request: TurnRequest, target: BodyTarget): WireRequest {
  const { traits } = target;
  const tools = offeredTools(request, traits);
  const native = traits.toolProtocol === 'native';
  const names = new ToolNames(tools.map((tool) => tool.name));
  const messages = native ? request.messages : textProtocol(request.messages, tools);
  const chat = withFormat(messages, request, traits).flatMap((message) => chatMessage(message, target, names));
  const ordered = applyMessageOrder(applyInstructionRole(chat, traits), traits);
  const marks = traits.cacheMarks && !traits.refusedParameters.has('cache_control');
  const body: JsonObject = {
    model: target.model,
    messages: marks ? withCacheMarks(ordered) : ordered,
    stream: true,
    stream_options: { include_usage: true },
  };
  if (native && tools.length > 0) {
    body.tools = tools.map((tool) => chatTool(tool, names, traits));
    if (request.toolChoice === 'none') body.tool_choice = 'none';
  }
  if (request.cacheKey !== undefined && traits.promptCacheKey) body.prompt_cache_key = request.cacheKey;
  applyOutputLimit(body, request.maxOutputTokens, traits);
  if (request.temperature !== undefined) body.temperature = request.temperature;
  if (request.topP !== undefined) body.top_p = request.topP;
  if (request.responseFormat !== undefined) body.response_format = request.responseFormat;
  applyRefusedParameters(body, traits);
  return { body, names };
}

/** Where `tool_choice` was refused or tools are told in the text, tools that may not be called are not offered. */
function offeredTools({ tools = [], toolChoice }: TurnRequest, traits: RequestTraits): readonly TurnTool[] {
  const cannot = traits.toolProtocol === 'text' || traits.refusedParameters.has('tool_choice');
  return toolChoice === 'none' && cannot ? [] : tools;
}

function chatTool(tool: TurnTool, names: ToolNames, traits: RequestTraits): JsonObject {
  const parameters = traits.plainSchemas ? plainSchema(tool.parameters) : tool.parameters;
  return { type: 'function', function: { name: names.safe(tool.name), description: tool.description, parameters } };
}

function withFormat(messages: readonly TurnMessage[], request: TurnRequest, traits: RequestTraits): TurnMessage[] {
  const { responseFormat } = request;
  if (responseFormat === undefined || !traits.refusedParameters.has('response_format')) return [...messages];
  return withInstruction(messages, formatInstruction(responseFormat));
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

/** Text alone goes as a string, which every server reads; images go as parts. */
function userContent(content: string | UserPart[]): string | JsonObject[] {
  if (typeof content === 'string') return content;
  if (content.every((part) => part.type === 'text')) return content.map((part) => part.text).join('\n');
  return content.map((part) => ({ ...part }));
}

/** An assistant message that says nothing is left out: several providers refuse it. */
function assistantMessage(message: AssistantMessage, target: BodyTarget, names: ToolNames): JsonObject[] {
  const { provider, traits } = target;
  const calls = message.tool_calls ?? [];
  if (calls.length === 0 && message.content === '') return [];
  const replay = replayOf(message, provider, traits);
  if (calls.length === 0) return [{ role: 'assistant', content: message.content, ...replay }];
  const empty = traits.emptyContent === 'null' ? null : '';
  return [
    {
      role: 'assistant',
      content: message.content === '' ? empty : message.content,
      ...replay,
      tool_calls: calls.map((call) => ({
        id: toolCallId(call.id, traits),
        type: 'function',
        function: { name: names.safe(call.name), arguments: sentArguments(call.arguments) },
        ...callExtras(message, call.id, provider, traits),
      })),
    },
  ];
}
