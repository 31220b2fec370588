import type {
  ChatAnnotation,
  ChatChunk,
  ChatCompletion,
  ChatFinishReason,
  ChatToolCall,
  ChatUsage,
  SearchResult,
} from '../../protocol/chat.ts';
import { answerPart, type FunctionCallItem, type TokenLogprob, type UrlCitation } from '../../protocol/items.ts';
import type { Claims, ResponseObject, Usage } from '../../protocol/response.ts';
import type { Warning } from '../../protocol/warnings.ts';
import { textOfReasoning } from '../executing/log/reasoning-events.ts';
import { searchResults, toReasoningStep } from './chat-steps.ts';

/** A run as a chat completion (docs/api.md, "Chat completions"): another reader of the same log. */

/** The chat completion object of an ended run; with `error` and `finish_reason: "error"` of a failed one. */
export function toChatCompletion(response: ResponseObject): ChatCompletion {
  const { annotations, ...sources } = chatSources(response);
  const { thoughts, tool_calls } = thoughtsAndCalls(response);
  const message = {
    role: 'assistant' as const,
    content: response.output_text,
    refusal: null,
    reasoning_content: thoughts,
    reasoning_steps: response.output.flatMap((item, index) => toReasoningStep(item, index) ?? []),
    annotations,
    ...(tool_calls.length > 0 && { tool_calls }),
  };
  return completionOf(response, { message, logprobs: null }, sources);
}

/** A model's reasoning as text, and its calls of the client's functions. */
export function thoughtsAndCalls({ output }: ResponseObject): { thoughts: string; tool_calls: ChatToolCall[] } {
  return {
    thoughts: output
      .filter((item) => item.type === 'reasoning')
      .map(textOfReasoning)
      .join('\n\n'),
    tool_calls: output.filter((item) => item.type === 'function_call').map(toToolCall),
  };
}

/** A chat completion with a message as its only choice, and further fields. */
export function completionOf<Message, Logprobs, Extra>(
  response: ResponseObject,
  { message, logprobs }: { message: Message; logprobs: Logprobs },
  extra: Extra,
) {
  return {
    id: response.id.replace(/^resp_/, 'chatcmpl-'),
    object: 'chat.completion' as const,
    created: response.created_at,
    model: response.model,
    choices: [{ index: 0 as const, message, finish_reason: finishReason(response), logprobs }],
    ...extra,
    usage: toChatUsage(response.usage),
    ...(response.status === 'failed' && response.error ? { error: response.error } : {}),
  };
}

/** The sources of a completion, or of the last chunk of a stream. */
export function chatSources({ output, warnings, claims }: ResponseObject): {
  annotations: ChatAnnotation[];
  search_results: SearchResult[];
  citations: string[];
  warnings: Warning[];
  claims: Claims | null;
} {
  const message = output.findLast((item) => item.type === 'message');
  const citations = answerPart(message)?.annotations ?? [];
  const cited = uniqueSources(citations);
  return {
    annotations: cited.map(toChatAnnotation),
    search_results: searchResults(output, citations),
    citations: cited.filter(({ index }) => index !== null).map(({ url }) => url),
    warnings,
    claims,
  };
}

/**
 * Chat apps open `[n]` as the n-th annotation, so each source comes once, in the order of its number, then bare URLs. The
 * other values of a structured answer follow, each with its source.
 */
function uniqueSources(annotations: readonly UrlCitation[]): UrlCitation[] {
  const numbered = new Map<number, UrlCitation>();
  const bare = new Map<string, UrlCitation>();
  for (const annotation of annotations) {
    const { index } = annotation;
    if (index === null && annotation.path !== undefined) continue;
    if (index === null) bare.set(annotation.url, bare.get(annotation.url) ?? annotation);
    else if (!numbered.has(index)) numbered.set(index, annotation);
  }
  for (const { url } of numbered.values()) bare.delete(url);
  const inOrder = [...numbered].toSorted(([a], [b]) => a - b).map(([, annotation]) => annotation);
  const values = annotations.filter((each) => each.path !== undefined && !inOrder.includes(each));
  return [...inOrder, ...bare.values(), ...values];
}

/** A citation as chats have it: that of a user's file, too. */
export function toChatAnnotation({
  type: _,
  file_id: __,
  filename: ___,
  ...url_citation
}: UrlCitation): ChatAnnotation {
  return { type: 'url_citation', url_citation };
}

export function logprobsOf(content: TokenLogprob[]): ChatChunk['choices'][number]['logprobs'] {
  return content.length === 0 ? null : { content, refusal: null };
}

export function finishReason(response: ResponseObject): ChatFinishReason {
  if (response.status === 'failed') return 'error';
  if (response.status === 'cancelled') return 'cancelled';
  if (response.output.some(({ type }) => type === 'function_call')) return 'tool_calls';
  const reason = response.incomplete_details?.reason;
  if (reason === 'content_filter') return 'content_filter';
  return reason === 'max_output_tokens' ? 'length' : 'stop';
}

/** A call of one of the client's functions. */
export function toToolCall({ call_id, namespace, name, arguments: args }: FunctionCallItem): ChatToolCall {
  const fullName = namespace === undefined ? name : `${namespace}.${name}`;
  return { id: call_id, type: 'function', function: { name: fullName, arguments: args } };
}

export function toChatUsage(usage: Usage): ChatUsage {
  return {
    prompt_tokens: usage.input_tokens,
    completion_tokens: usage.output_tokens,
    total_tokens: usage.total_tokens,
    prompt_tokens_details: { cached_tokens: usage.input_tokens_details.cached_tokens },
    completion_tokens_details: { reasoning_tokens: usage.output_tokens_details.reasoning_tokens },
    num_search_queries: usage.num_search_queries,
    ...(usage.estimated && { estimated: usage.estimated }),
    ...(usage.cost && { cost: usage.cost }),
  };
}
