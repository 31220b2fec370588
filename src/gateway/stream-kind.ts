import type { ErrorObject } from '../base/errors.ts';
import { isObject, type JsonObject } from '../base/json.ts';
import { isStreamError, readFinishReason } from '../upstream/provider-answer.ts';

/** The last events of a stream. */
export interface StreamEnding {
  /** Whether the very last is `[DONE]`. */
  done: boolean;
  /** Payloads, the last first. */
  payloads(): readonly JsonObject[];
  /** Whether the provider ended the stream in order, rather than cutting it or falling silent. */
  inOrder: boolean;
}

/** What differs between the streams of OpenAI's APIs. */
export interface StreamKind {
  isError(payload: JsonObject): boolean;
  /** What stands in every event of text: until one came the model may think and show nothing of it. */
  readonly speaks?: Buffer;
  /** Whether a stream that ends so is whole. */
  isWhole(ending: StreamEnding): boolean;
  /** The payload that tells of a failure midway (contract section 10). `first`: the first payload of the stream. */
  failure(error: ErrorObject, first: JsonObject): JsonObject;
}

/**
 * Streams of chat completions. `several`: whether more than one choice was asked for; then the end of one says
 * nothing about the others.
 */
export function chatStreamKind(model: string, several: () => boolean): StreamKind {
  return {
    isError: isStreamError,
    isWhole: ({ done, payloads, inOrder }) => done || (payloads().some(finishes) && (inOrder || !several())),
    failure: (error, first) => ({
      ...envelope(first, { object: 'chat.completion.chunk', model }),
      choices: [{ index: 0, delta: {}, finish_reason: 'error' }],
      error: { ...error },
    }),
  };
}

/** Streams of the older completions. */
function completionStream(model: string): StreamKind {
  return {
    ...chatStreamKind(model, () => false),
    failure: (error, first) => ({
      ...envelope(first, { object: 'text_completion', model }),
      choices: [{ index: 0, text: '', logprobs: null, finish_reason: 'error' }],
      error: { ...error },
    }),
  };
}

const RESPONSE_ENDS = new Set(['response.completed', 'response.failed', 'response.incomplete']);

/** Streams of the Responses API; a provider's, not the gateway's own. */
const RESPONSE_STREAM: StreamKind = {
  isError: isPlainError,
  speaks: Buffer.from('response.output_text.delta'),
  isWhole: ({ payloads }) => payloads().some(({ type }) => typeof type === 'string' && RESPONSE_ENDS.has(type)),
  failure: errorEvent,
};

/** Streams of Anthropic's Messages. */
const MESSAGE_STREAM: StreamKind = {
  isError: isPlainError,
  isWhole: ({ payloads }) => payloads().some(({ type }) => type === 'message_stop'),
  failure: ({ message }) => ({ type: 'error', error: { type: 'api_error', message } }),
};

/** Streams of other APIs (audio, images): what their last event is, only their provider knows. */
const OTHER_STREAM: StreamKind = {
  isError: isPlainError,
  isWhole: ({ inOrder }) => inOrder,
  failure: errorEvent,
};

/** The kind of stream that an API other than chat completions answers with. */
export function streamOf(api: string, model: string): StreamKind {
  if (api === 'completions') return completionStream(model);
  if (api === 'messages') return MESSAGE_STREAM;
  return api === 'responses' ? RESPONSE_STREAM : OTHER_STREAM;
}

function finishes({ choices }: JsonObject): boolean {
  if (!Array.isArray(choices)) return false;
  return choices.some((choice) => {
    const end = isObject(choice) ? readFinishReason(choice.finish_reason) : undefined;
    return end !== undefined && end !== 'broken';
  });
}

function isPlainError({ error, type }: JsonObject): boolean {
  return type === 'error' || isObject(error);
}

/** The official SDKs throw on a top-level `error`. */
function errorEvent(error: ErrorObject): JsonObject {
  return { type: 'error', error: { ...error } };
}

function envelope(first: JsonObject, own: { object: string; model: string }): JsonObject {
  return {
    id: first.id ?? 'chatcmpl-failed',
    object: own.object,
    created: first.created ?? Math.floor(Date.now() / 1000),
    model: first.model ?? own.model,
  };
}
