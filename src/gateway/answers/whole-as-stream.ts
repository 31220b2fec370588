import { isJsonObject, type JsonObject } from '../../base/json.ts';

/**
 * Turns a complete chat completion into a stream, for providers that ignore `stream: true`. Undefined if it is no chat
 * completion.
 */
export function streamOfCompletion(completion: JsonObject): string | undefined {
  const { choices, usage, ...rest } = completion;
  if (!Array.isArray(choices) || choices.length === 0) return undefined;
  const envelope = { ...rest, object: 'chat.completion.chunk' };
  const chunks: JsonObject[] = [];
  for (const [position, choice] of choices.entries()) {
    if (!isJsonObject(choice) || !isJsonObject(choice.message)) return undefined;
    const { message, finish_reason: end, index = position, logprobs } = choice;
    const delta = deltaOf(message);
    chunks.push({ ...envelope, choices: [{ index, delta, ...(logprobs && { logprobs }), finish_reason: null }] });
    chunks.push({ ...envelope, choices: [{ index, delta: {}, finish_reason: end || 'stop' }] });
  }
  if (usage !== undefined) chunks.push({ ...envelope, choices: [], usage });
  return `${chunks.map((chunk) => `data: ${JSON.stringify(chunk)}\n\n`).join('')}data: [DONE]\n\n`;
}

/** In a delta, unlike in a message, tool calls have an index. */
function deltaOf({ tool_calls: calls, ...message }: JsonObject): JsonObject {
  if (!Array.isArray(calls)) return { role: 'assistant', ...message };
  const indexed = calls.map((call, index) => (isJsonObject(call) ? { index, ...call } : call));
  return { role: 'assistant', ...message, tool_calls: indexed };
}
