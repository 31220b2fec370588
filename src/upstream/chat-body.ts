import type { JsonObject } from '../base/json.ts';
import type { TurnMessage, TurnRequest } from './turn.ts';

/** The body of a streamed chat completion. */
export function chatBody(request: TurnRequest, model: string): JsonObject {
  const body: JsonObject = {
    model,
    messages: request.messages.map(chatMessage),
    stream: true,
    stream_options: { include_usage: true },
  };
  if (request.tools?.length) {
    body.tools = request.tools.map((tool) => ({
      type: 'function',
      function: { name: tool.name, description: tool.description, parameters: tool.parameters },
    }));
  }
  if (request.maxOutputTokens !== undefined) body.max_tokens = request.maxOutputTokens;
  if (request.temperature !== undefined) body.temperature = request.temperature;
  if (request.topP !== undefined) body.top_p = request.topP;
  if (request.responseFormat !== undefined) body.response_format = request.responseFormat;
  return body;
}

function chatMessage(message: TurnMessage): JsonObject {
  if (message.role !== 'assistant') return { ...message };
  const calls = message.tool_calls ?? [];
  if (calls.length === 0) return { role: 'assistant', content: message.content };
  return {
    role: 'assistant',
    content: message.content === '' ? null : message.content,
    tool_calls: calls.map((call) => ({
      id: call.id,
      type: 'function',
      function: { name: call.name, arguments: call.arguments },
    })),
  };
}
