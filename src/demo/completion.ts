import { randomUUID } from 'node:crypto';
import type { DemoRequest } from './request.ts';
import type { DemoCall, DemoTurn } from './researcher.ts';
import { piecesOf } from './words.ts';

/** A turn in the shapes of OpenAI's chat completions: one object, or chunks. */

/** A turn as far as the request's token limit lets it go. A piece of text counts as a token. */
export interface BoundedTurn {
  reasoning: string[];
  text: string[];
  calls: DemoCall[];
  finishReason: 'stop' | 'length' | 'tool_calls';
}

/** Cuts a turn at `max_completion_tokens` or `max_tokens`, thoughts included, as providers do. */
export function boundTurn(turn: DemoTurn, request: DemoRequest): BoundedTurn {
  const limit = request.max_completion_tokens ?? request.max_tokens ?? Number.POSITIVE_INFINITY;
  const thoughts = piecesOf(turn.reasoning);
  const words = piecesOf(turn.text);
  const reasoning = thoughts.slice(0, limit);
  const text = words.slice(0, limit - reasoning.length);
  if (reasoning.length + text.length < thoughts.length + words.length) {
    return { reasoning, text, calls: [], finishReason: 'length' };
  }
  return { reasoning, text, calls: turn.calls, finishReason: turn.calls.length > 0 ? 'tool_calls' : 'stop' };
}

/** What is the same in a completion and in each of its chunks. */
function header(request: DemoRequest) {
  return { id: `chatcmpl-demo-${randomUUID()}`, created: Math.floor(Date.now() / 1000), model: request.model };
}

/** The answer to a request without `stream`. */
export function toCompletion(turn: BoundedTurn, request: DemoRequest): object {
  const reasoning = turn.reasoning.join('');
  const text = turn.text.join('');
  const calls = turn.calls.map((call) => ({ id: call.id, type: 'function', function: functionOf(call) }));
  const message = {
    role: 'assistant',
    content: text === '' && calls.length > 0 ? null : text,
    ...(reasoning === '' ? {} : { reasoning_content: reasoning }),
    ...(calls.length === 0 ? {} : { tool_calls: calls }),
  };
  return {
    ...header(request),
    object: 'chat.completion',
    choices: [{ index: 0, message, logprobs: null, finish_reason: turn.finishReason }],
    usage: usageOf(turn, request),
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
  for (const [index, call] of turn.calls.entries()) {
    const { name, arguments: args } = functionOf(call);
    yield chunk({ tool_calls: [{ index, id: call.id, type: 'function', function: { name, arguments: '' } }] });
    for (const piece of args.match(/[\s\S]{1,40}/gu) ?? []) {
      yield chunk({ tool_calls: [{ index, function: { arguments: piece } }] });
    }
  }
  yield chunk({}, turn.finishReason);
  if (request.stream_options?.include_usage) yield { ...common, choices: [], usage: usageOf(turn, request) };
}

function functionOf(call: DemoCall): { name: string; arguments: string } {
  return { name: call.name, arguments: call.arguments };
}

function usageOf(turn: BoundedTurn, request: DemoRequest) {
  const sent = request.messages.reduce((sum, message) => sum + message.content.length + 16, 0);
  const calls = turn.calls.reduce((sum, call) => sum + call.name.length + call.arguments.length, 0);
  const prompt = Math.ceil(sent / 4);
  const completion = turn.reasoning.length + turn.text.length + Math.ceil(calls / 4);
  return {
    prompt_tokens: prompt,
    completion_tokens: completion,
    total_tokens: prompt + completion,
    prompt_tokens_details: { cached_tokens: 0 },
    completion_tokens_details: { reasoning_tokens: turn.reasoning.length },
  };
}
