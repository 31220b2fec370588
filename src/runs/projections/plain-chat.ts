import type { ChatAnnotation } from '../../protocol/chat.ts';
import type { RunEvent } from '../../protocol/events.ts';
import { messageText, type OutputItem } from '../../protocol/items.ts';
import { imageUrlOfCall } from '../../protocol/made-images.ts';
import type { ResponseObject } from '../../protocol/response.ts';
import type { Warning } from '../../protocol/warnings.ts';
import { completionOf, logprobsOf, thoughtsAndCalls, toChatAnnotation, toToolCall } from './chat.ts';
import type { ChatDelta, ChatStreamFormat } from './chat-stream.ts';

/** A response of a plain model as a chat completion, in the form that providers use (docs/api.md, "Chat completions of plain models"). */

/** The chat completion object of an ended response; with `error` and `finish_reason: "error"` of a failed one. */
export function toPlainCompletion(response: ResponseObject) {
  const { thoughts: reasoning, tool_calls } = thoughtsAndCalls(response);
  const messages = response.output.filter((item) => item.type === 'message');
  const parts = answerParts(response);
  const thoughts = [reasoning, ...messages.filter(isNote).map(messageText)].filter((text) => text !== '').join('\n\n');
  const refusal = parts.map((part) => (part.type === 'refusal' ? part.refusal : '')).join('');
  const text = parts.map((part) => (part.type === 'output_text' ? part.text : '')).join('');
  const isSilent = text === '' && (tool_calls.length > 0 || refusal !== '');
  const logprobs = parts.flatMap((part) => (part.type === 'output_text' ? part.logprobs : []));
  const message = {
    role: 'assistant' as const,
    content: isSilent ? null : text,
    refusal: refusal || null,
    ...(thoughts !== '' && { reasoning_content: thoughts }),
    ...(tool_calls.length > 0 && { tool_calls }),
    ...imagesOf(response),
    ...annotationsOf(response),
  };
  return completionOf(response, { message, logprobs: logprobsOf(logprobs) }, warningsOf(response));
}

/** Its stream, in the form that providers use: thoughts, content, calls, and a last chunk without usage. */
export const PLAIN_STREAM: ChatStreamFormat = {
  deltas: () => new Deltas(),
  // In one chunk: helpers of SDKs keep only the last list of a field that they do not know.
  lastOf: (response) => ({ delta: { ...imagesOf(response), ...annotationsOf(response) }, ...warningsOf(response) }),
};

/** The parts whose texts together are the answer. */
function answerParts({ output }: ResponseObject) {
  return output.flatMap((item) => (item.type === 'message' && !isNote(item) ? item.content : []));
}

/** The citations that the provider made, by their places in the answer; absent where there are none. */
function annotationsOf(response: ResponseObject): { annotations?: ChatAnnotation[] } {
  const annotations: ChatAnnotation[] = [];
  let at = 0;
  for (const part of answerParts(response)) {
    if (part.type !== 'output_text') continue;
    for (const { start_index: start, end_index: end, ...cited } of part.annotations)
      annotations.push(toChatAnnotation({ ...cited, start_index: at + start, end_index: at + end }));
    at += part.text.length;
  }
  return annotations.length > 0 ? { annotations } : {};
}

/** The images that the model made, as OpenRouter and LiteLLM show them in chats; absent where there are none. */
function imagesOf({ output }: ResponseObject): Pick<ChatDelta, 'images'> {
  const urls = output.flatMap((item) => (item.type === 'image_generation_call' ? (imageUrlOfCall(item) ?? []) : []));
  if (urls.length === 0) return {};
  return { images: urls.map((url, index) => ({ type: 'image_url' as const, image_url: { url }, index })) };
}

/** What the client should know and no error says; absent where there is nothing, because providers have no such field. */
function warningsOf({ warnings }: ResponseObject): { warnings?: Warning[] } {
  return warnings.length > 0 ? { warnings } : {};
}

/** Whether an item is commentary before the answer, if the provider tells them apart; in chats it becomes reasoning. */
function isNote(item: OutputItem): boolean {
  return item.type === 'message' && item.phase === 'commentary';
}

/** Turns events into deltas. */
class Deltas {
  /** The ids of the notes, and of the latest thought or note. */
  readonly #notes = new Set<string>();
  #thought: string | undefined;
  /** How many functions were called. */
  #calls = 0;

  deltaOf(event: RunEvent): ChatDelta | undefined {
    switch (event.type) {
      case 'response.output_item.added':
        if (isNote(event.item)) this.#notes.add(event.item.id);
        return undefined;
      case 'response.output_text.delta':
        return this.#notes.has(event.item_id) ? this.#thoughtOf(event) : { content: event.delta };
      case 'response.refusal.delta':
        return { refusal: event.delta };
      case 'response.reasoning_text.delta':
        return this.#thoughtOf(event);
      case 'response.output_item.done':
        if (event.item.type !== 'function_call') return undefined;
        return { tool_calls: [{ index: this.#calls++, ...toToolCall(event.item) }] };
      default:
        return undefined;
    }
  }

  #thoughtOf({ item_id, delta }: { item_id: string; delta: string }): ChatDelta {
    const isNext = this.#thought !== undefined && this.#thought !== item_id;
    this.#thought = item_id;
    return { reasoning_content: isNext ? `\n\n${delta}` : delta };
  }
}
