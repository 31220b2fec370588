import { isObject } from '../../base/json.ts';
import { readFinishReason } from './finish-reason.ts';

/** What one payload reveals about an answer. The payload is an event of a stream, or an answer that was not streamed. */
export interface AnswerSigns {
  /** Whether there is text beyond white space, reasoning, a tool call, a refusal or audio. */
  content: boolean;
  /**
   * How the answer, or a choice of it, ended. `cut`: by its length, a filter or a stop sequence, so it may be empty.
   * `failed`: the provider gave up. `pending`: the answer is still being made in the background.
   */
  end?: AnswerEnd;
}

type AnswerEnd = 'stop' | 'cut' | 'failed' | 'pending' | undefined;

export type ReadSigns = (payload: Record<string, unknown>) => AnswerSigns;

/** Fields that empty answers have too: their values are no content. */
const LABELS = new Set([
  ...['role', 'type', 'id', 'index', 'format', 'object', 'status'],
  // Padding against traffic analysis (OpenAI), and the provider behind a proxy (LiteLLM).
  ...['obfuscation', 'provider_specific_fields'],
]);
/** Values nested deeper count as content unread, so that nesting costs nothing. */
const MAX_DEPTH = 8;

/** Whether a value holds anything that a reader could see: text beyond white space, outside label fields. */
export function saysSomething(value: unknown, depth = 0): boolean {
  if (typeof value === 'string') return /\S/.test(value);
  if (depth > MAX_DEPTH) return true;
  if (Array.isArray(value)) return value.some((entry) => saysSomething(entry, depth + 1));
  if (!isObject(value)) return false;
  return Object.entries(value).some(([name, entry]) => !LABELS.has(name) && saysSomething(entry, depth + 1));
}

/** As `saysSomething`, for a message or delta of a chat, whose `name` is its author (MiniMax) and no content. */
function messageSays(message: unknown): boolean {
  if (!isObject(message)) return saysSomething(message);
  return Object.entries(message).some(([name, entry]) => name !== 'name' && !LABELS.has(name) && saysSomething(entry));
}

/** Chat completions and the older completions. */
export function chatSigns({ choices }: Record<string, unknown>): AnswerSigns {
  const signs: AnswerSigns = { content: false };
  for (const choice of Array.isArray(choices) ? choices : []) {
    if (!isObject(choice)) continue;
    signs.content ||= messageSays(choice.delta) || messageSays(choice.message) || saysSomething(choice.text);
    const end = readFinishReason(choice.finish_reason);
    if (end === 'length' || end === 'content_filter') signs.end = 'cut';
    else if (end !== undefined) signs.end ??= 'stop';
  }
  return signs;
}

/** The Responses API. A reasoning item counts from its start: it shows that the model thinks. */
export function responseSigns(payload: Record<string, unknown>): AnswerSigns {
  const { type, object, output, response, item } = payload;
  if (object === 'response' || (!type && Array.isArray(output))) {
    const { content, end = 'pending' } = wholeResponse(payload);
    return { content, end };
  }
  if (typeof type !== 'string') return { content: false };
  if (isObject(response)) return wholeResponse(response);
  if (type.startsWith('response.output_item.')) return { content: saysItem(item, { begins: true }) };
  if (type.startsWith('response.content_part.')) return { content: saysSomething(payload.part) };
  return { content: type.startsWith('response.') && saysSomething([payload.delta, payload.text, payload.refusal]) };
}

function wholeResponse({ status, output }: Record<string, unknown>): AnswerSigns {
  const items = Array.isArray(output) ? output : [];
  const content = items.some((item) => saysItem(item, { begins: false }));
  if (status === 'failed' || status === 'cancelled') return { content, end: 'failed' };
  if (status === 'incomplete') return { content, end: 'cut' };
  return status === 'completed' ? { content, end: 'stop' } : { content };
}

/** `begins`: the item may still grow. */
function saysItem(item: unknown, { begins }: { begins: boolean }): boolean {
  if (!isObject(item)) return false;
  if (item.type === 'message') return saysSomething(item.content);
  if (item.type === 'reasoning' && !begins) return saysSomething([item.summary, item.content]);
  // A tool of the provider that failed, such as one that makes images.
  return item.status !== 'failed';
}

/** Anthropic's Messages API. A thinking block counts from its start, as a reasoning item does. */
export function messageSigns(payload: Record<string, unknown>): AnswerSigns {
  const { type, message, delta, content_block: block } = payload;
  if (isObject(message)) return wholeMessage(message);
  if (type === 'message' || (!type && Array.isArray(payload.content))) return wholeMessage(payload);
  if (typeof type !== 'string') return { content: false };
  if (isObject(block)) return { content: block.type !== 'text' || saysSomething(block) };
  if (type === 'content_block_delta') return { content: saysSomething(delta) };
  return { content: false, end: isObject(delta) ? endOfMessage(delta) : undefined };
}

function wholeMessage(message: Record<string, unknown>): AnswerSigns {
  return { content: saysSomething(message.content), end: endOfMessage(message) };
}

function endOfMessage({ stop_reason: reason }: Record<string, unknown>): AnswerEnd {
  if (typeof reason !== 'string') return undefined;
  return reason === 'end_turn' || reason === 'tool_use' ? 'stop' : 'cut';
}

/** Embeddings: a list of non-empty vectors, or the forms of other providers (Cohere, MiniMax, Ollama). */
export function embeddingSigns({ data, embedding: single, embeddings, vectors }: Record<string, unknown>): AnswerSigns {
  if (!Array.isArray(data)) return { content: isObject(embeddings) || hasLength(embeddings ?? vectors ?? single) };
  if (data.length === 0) return { content: false, end: 'stop' };
  const entries = data.filter(isObject);
  return { content: entries.every(({ embedding }) => isObject(embedding) || hasLength(embedding)) };
}

function hasLength(vector: unknown): boolean {
  return (Array.isArray(vector) || typeof vector === 'string') && vector.length > 0;
}
