import { randomUUID } from 'node:crypto';
import type { DemoRequest } from './request.ts';
import type { DemoCall, DemoTurn } from './researcher.ts';

/** The pieces in which text is streamed and counted: words with the space before them. Joined, they are the text. */
const PIECES = /\s*\S{1,24}|\s+/gu;

/** Formats a turn as an OpenAI chat completion: one object, or chunks. */

/** A turn within the token limit of its request. A piece of text counts as a token. */
export interface BoundedTurn {
  reasoning: string[];
  text: string[];
  calls: DemoCall[];
  finishReason: 'stop' | 'length' | 'tool_calls';
}

/** Cuts a turn at `max_completion_tokens` or `max_tokens`, reasoning included, as providers do. */
export function boundTurn(turn: DemoTurn, request: DemoRequest): BoundedTurn {
  const limit = request.max_completion_tokens ?? request.max_tokens ?? Number.POSITIVE_INFINITY;
  const thoughts = turn.reasoning.match(PIECES) ?? [];
  const words = turn.text.match(PIECES) ?? [];
  const reasoning = thoughts.slice(0, limit);
  const text = words.slice(0, limit - reasoning.length);
  if (thoughts.length + words.length > limit) return { reasoning, text, calls: [], finishReason: 'length' };
  return { reasoning, text, calls: turn.calls, finishReason: turn.calls.length > 0 ? 'tool_calls' : 'stop' };
}

/** The fields that a completion and all of its chunks share. */
function header(request: DemoRequest) {
  return { id: `chatcmpl-demo-${randomUUID()}`, created: Math.floor(Date.now() / 1000), model: request.model };
}

/** The answer to a request without `stream`. */
export function toCompletion({ reasoning, text, calls, finishReason }: BoundedTurn, request: DemoRequest): object {
  const message = {
    role: 'assistant',
    content: text.length === 0 && calls.length > 0 ? null : text.join(''),
    ...(reasoning.length > 0 && { reasoning_content: reasoning.join('') }),
    ...(calls.length > 0 && {
      tool_calls: calls.map(({ id, ...called }) => ({ id, type: 'function', function: called })),
    }),
  };
  return {
    ...header(request),
    object: 'chat.completion',
    choices: [{ index: 0, message, logprobs: null, finish_reason: finishReason }],
    usage: usageOf({ reasoning, text, calls }, request),
  };
}

/** The chunks of a streamed answer, in order. */
export function* toChunks(turn: BoundedTurn, request: DemoRequest): Iterable<object> {
  const common = { ...header(request), object: 'chat.completion.chunk' };
  const chunk = (delta: object, finishReason: string | null = null) => ({
    ...common,
    choices: [{ index: 0, delta, logprobs: null, finish_reason: finishReason }],
  });
  yield chunk({ role: 'assistant', content: '' });
  for (const piece of turn.reasoning) yield chunk({ reasoning_content: piece });
  for (const piece of turn.text) yield chunk({ content: piece });
  for (const [index, { id, name, arguments: args }] of turn.calls.entries()) {
    yield chunk({ tool_calls: [{ index, id, type: 'function', function: { name, arguments: '' } }] });
    for (const piece of args.match(/[\s\S]{1,40}/gu) ?? []) {
      yield chunk({ tool_calls: [{ index, function: { arguments: piece } }] });
    }
  }
  yield chunk({}, turn.finishReason);
  if (request.stream_options?.include_usage) yield { ...common, choices: [], usage: usageOf(turn, request) };
}

function usageOf({ reasoning, text, calls }: Omit<BoundedTurn, 'finishReason'>, { messages }: DemoRequest) {
  const sent = messages.reduce((sum, message) => sum + message.content.length + 16, 0);
  const called = calls.reduce((sum, call) => sum + call.name.length + call.arguments.length, 0);
  const prompt = Math.ceil(sent / 4);
  const completion = reasoning.length + text.length + Math.ceil(called / 4);
  return {
    prompt_tokens: prompt,
    completion_tokens: completion,
    total_tokens: prompt + completion,
    prompt_tokens_details: { cached_tokens: 0 },
    completion_tokens_details: { reasoning_tokens: reasoning.length },
  };
}
