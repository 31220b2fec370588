import { publicId, type RunId } from '../../base/ids.ts';
import { isObject, type JsonObject, parseJson } from '../../base/json.ts';
import type { RunEvent } from '../../protocol/events.ts';
import { decodeFrames } from '../../protocol/frames.ts';
import type { OutputItem, ToolCallItem, UrlCitation } from '../../protocol/items.ts';
import type { ResponseObject, Usage } from '../../protocol/response.ts';
import type { LogBatch } from '../../store/run-store.ts';

/** A run as a chat completion (contract section 7): another reader of the same log. */

type FinishReason = 'stop' | 'length' | 'error' | 'cancelled';

/** The chat completion object of an ended run; with `error` and `finish_reason: "error"` of a failed one. */
export function chatCompletion(response: ResponseObject): JsonObject {
  const reasoning = response.output
    .filter((item) => item.type === 'reasoning')
    .map((item) => item.content[0]?.text ?? '');
  const message = {
    role: 'assistant',
    content: response.output_text,
    reasoning_content: reasoning.join('\n\n'),
    reasoning_steps: response.output.flatMap((item, index) => reasoningStep(item, index)),
    annotations: chatAnnotations(annotationsOf(response)),
  };
  return {
    id: chatId(response),
    object: 'chat.completion',
    created: response.created_at,
    model: response.model,
    choices: [{ index: 0, message, finish_reason: finishReason(response), logprobs: null }],
    search_results: searchResults(response),
    usage: chatUsage(response.usage),
    ...(response.status === 'failed' ? { error: response.error } : {}),
  };
}

/**
 * The payloads of a chat stream: role, reasoning steps, content, and a last chunk with `finish_reason`, `usage` and
 * `search_results`; on a failure that chunk has a top-level `error`. Ends without a last chunk where the log does.
 */
export async function* chatStream(
  batches: AsyncIterable<LogBatch>,
  options: { id: RunId; model: string; created: number },
): AsyncGenerator<string> {
  const base = {
    id: publicId('chat_completions', options.id),
    object: 'chat.completion.chunk',
    created: options.created,
    model: options.model,
  };
  const chunk = (delta: JsonObject) =>
    JSON.stringify({ ...base, choices: [{ index: 0, delta, finish_reason: null, logprobs: null }] });
  const steps = new StepPlaces();
  yield chunk({ role: 'assistant', content: '' });
  for await (const batch of batches) {
    for (const event of decodeFrames(batch.frames)) {
      const delta = eventDelta(event, steps);
      if (delta) yield chunk(delta);
      if (event.type === 'response.completed' || event.type === 'response.failed')
        yield lastChunk(base, event.response);
    }
  }
}

/**
 * The indexes of a stream's steps: 0, 1, 2 in the order in which they are first shown. The Python SDK's helper puts
 * each step at its index, and mixes steps or throws where one comes out of order: parallel calls end in any order.
 */
class StepPlaces {
  readonly #places = new Map<number, number>();

  /** The index of the step of the item at this place of the output. */
  of(outputIndex: number): number {
    const place = this.#places.get(outputIndex) ?? this.#places.size;
    this.#places.set(outputIndex, place);
    return place;
  }
}

function eventDelta(event: RunEvent, steps: StepPlaces): JsonObject | undefined {
  switch (event.type) {
    case 'response.reasoning_text.delta':
      return {
        reasoning_content: event.delta,
        reasoning_steps: [{ index: steps.of(event.output_index), type: 'thinking', thought: event.delta }],
      };
    case 'response.output_text.delta':
      return { content: event.delta };
    case 'response.output_item.done': {
      if (event.item.type !== 'tool_call') return undefined;
      return { reasoning_steps: reasoningStep(event.item, steps.of(event.output_index)) };
    }
    default:
      return undefined;
  }
}

function lastChunk(base: JsonObject, response: ResponseObject): string {
  const finish_reason = finishReason(response);
  const delta: JsonObject = { annotations: chatAnnotations(annotationsOf(response)) };
  return JSON.stringify({
    ...base,
    choices: [{ index: 0, delta, finish_reason, logprobs: null }],
    usage: chatUsage(response.usage),
    search_results: searchResults(response),
    ...(finish_reason === 'error' ? { error: response.error } : {}),
  });
}

function finishReason(response: ResponseObject): FinishReason {
  if (response.status === 'failed') return 'error';
  if (response.status === 'cancelled') return 'cancelled';
  return response.incomplete_details?.reason === 'max_output_tokens' ? 'length' : 'stop';
}

/** One step, or none for the message. */
function reasoningStep(item: OutputItem, index: number): JsonObject[] {
  if (item.type === 'message') return [];
  if (item.type === 'reasoning') return [{ index, type: 'thinking', thought: item.content[0]?.text ?? '' }];
  return [{ index, ...toolStep(item) }];
}

function toolStep(item: ToolCallItem): JsonObject {
  const args = objectIn(item.arguments);
  const result = objectIn(item.result ?? '');
  switch (item.name) {
    case 'web_search':
      return {
        type: 'web_search',
        web_search: { search_keywords: args.queries ?? [], search_results: resultsOf(item) },
      };
    case 'fetch_url_content':
      return {
        type: 'fetch_url_content',
        fetch_url_content: {
          url: args.url ?? '',
          title: result.title ?? '',
          snippet: typeof result.content === 'string' ? result.content.slice(0, 300) : '',
        },
      };
    case 'execute_python':
      return { type: 'execute_python', execute_python: { code: args.code ?? '', result: item.result ?? '' } };
    default:
      return {
        type: 'tool_call',
        tool_call: { name: item.name, arguments: item.arguments, result: item.result ?? '' },
      };
  }
}

/** What the run's searches found, each URL once. */
function searchResults(response: ResponseObject): JsonObject[] {
  const found = new Map<string, JsonObject>();
  for (const item of response.output) {
    if (item.type !== 'tool_call' || item.name !== 'web_search') continue;
    for (const result of resultsOf(item))
      if (typeof result.url === 'string' && !found.has(result.url)) found.set(result.url, result);
  }
  return [...found.values()];
}

function resultsOf(item: ToolCallItem): JsonObject[] {
  const { results } = objectIn(item.result ?? '');
  if (!Array.isArray(results)) return [];
  return results.filter(isJsonObject).map(({ title, url, snippet }) => ({
    title: title ?? '',
    url: url ?? '',
    snippet: snippet ?? '',
  }));
}

function isJsonObject(value: unknown): value is JsonObject {
  return isObject(value);
}

function objectIn(text: string): JsonObject {
  const value = parseJson(text);
  return isJsonObject(value) ? value : {};
}

function annotationsOf(response: ResponseObject): UrlCitation[] {
  return response.output.findLast((item) => item.type === 'message')?.content[0]?.annotations ?? [];
}

/** In the shape of chat completions: the citation stands one level deeper than in Responses. */
function chatAnnotations(annotations: readonly UrlCitation[]): JsonObject[] {
  return annotations.map(({ type, ...url_citation }) => ({ type, url_citation }));
}

function chatUsage(usage: Usage): JsonObject {
  return {
    prompt_tokens: usage.input_tokens,
    completion_tokens: usage.output_tokens,
    total_tokens: usage.total_tokens,
    prompt_tokens_details: { cached_tokens: usage.input_tokens_details.cached_tokens },
    completion_tokens_details: { reasoning_tokens: usage.output_tokens_details.reasoning_tokens },
    num_search_queries: usage.num_search_queries,
  };
}

function chatId(response: ResponseObject): string {
  return response.id.replace(/^resp_/, 'chatcmpl-');
}
