import type { ErrorObject } from '../base/errors.ts';
import { isObject, type JsonObject, parseJson, scalarText } from '../base/json.ts';
import { topLevelSpans } from '../protocol/requests/json-spans.ts';
import {
  brokenChoice,
  chatSigns,
  embeddingSigns,
  isErrorOf,
  isMessageError,
  isPlainError,
  isResponseError,
  isStreamError,
  messageSigns,
  promptsIn,
  type ReadSigns,
  readFinishReason,
  requestedNumber,
  responseSigns,
} from '../upstream/provider-answer.ts';
import type { LastEvent } from './streams/last-event.ts';

/** The most choices that are tracked: a provider may number them as it likes. */
const MAX_CHOICES = 1024;

/** Tracks which choices of a stream have appeared, and which of them have ended. */
export class ChoiceTracker {
  readonly #requested: number;
  readonly #seen = new Set<number>();
  readonly #ended = new Set<number>();

  /** `requested`: how many there should be. */
  constructor(requested: number) {
    this.#requested = requested;
  }

  note({ choices }: JsonObject): void {
    for (const choice of Array.isArray(choices) ? choices : []) {
      if (!isObject(choice)) continue;
      const index = Number(scalarText(choice.index ?? 0));
      if (!(index >= 0 && index < MAX_CHOICES)) continue;
      const end = readFinishReason(choice.finish_reason);
      this.#seen.add(index);
      if (end !== undefined && end !== 'broken') this.#ended.add(index);
    }
  }

  /** Whether every choice has a finish reason. A provider may make fewer than requested, if the stream ends in order. */
  areComplete({ inOrder }: { inOrder: boolean }): boolean {
    const isEnded = this.#ended.size > 0 && this.#seen.size === this.#ended.size;
    return isEnded && (inOrder || this.#ended.size >= Math.min(this.#requested, MAX_CHOICES));
  }
}

/** How a stream ended. */
export interface StreamEnding {
  /** The payloads of its last events, the last first. */
  payloads(): readonly JsonObject[];
  /** Whether an earlier payload reported the end of the answer. */
  ended: boolean;
  /** Set when several choices were requested. */
  choices?: ChoiceTracker | undefined;
  /** Whether the stream ended with `[DONE]` or with the body, rather than being cut off or falling silent. */
  inOrder: boolean;
}

/** What differs between the answers of the APIs, streamed or whole. */
export interface AnswerKind {
  isError(payload: JsonObject): boolean;
  signs: ReadSigns;
  /** Whether an empty answer to the request is valid. */
  mayBeEmpty(): boolean;
  /** Whether the provider may stream although the request does not say so. */
  mayStream?(): boolean;
  /** How many choices were requested; absent: one. */
  choices?(): number;
  /** Whether a payload reports the end of its answer; absent for APIs whose payloads do not. */
  isEnd?(payload: JsonObject): boolean;
  /** The last event of a whole stream; absent if only `[DONE]` or the body ends it. */
  readonly lastEvent?: LastEvent;
  /** Bytes that every event with text contains. Until one arrives the model may be thinking silently. */
  readonly textMarker?: Buffer;
  /** Whether a stream with this ending is complete. */
  isWhole(ending: StreamEnding): boolean;
  /**
   * The payloads that report a failure midway (docs/failover.md, "Until when"). `first`: the first payload of the
   * stream.
   */
  failure(error: ErrorObject, first: JsonObject): [JsonObject, ...JsonObject[]];
}

/**
 * Judges a payload, streamed or whole: the answer has `started` with its first content, or with an end that needs no
 * content. An answer that is still `waiting` when it ends is empty, which is a failure.
 */
export function judgePayload(kind: AnswerKind, payload: JsonObject): 'waiting' | 'started' | 'failed' {
  if (kind.isError(payload)) return 'failed';
  const { content, end } = kind.signs(payload);
  if (end === 'failed') return 'failed';
  return content || end === 'cut' || (end !== undefined && kind.mayBeEmpty()) ? 'started' : 'waiting';
}

/** Streams of chat completions. */
export function chatKind(model: string, choices: () => number, mayBeEmpty: () => boolean = () => false): AnswerKind {
  return {
    isError: isStreamError,
    signs: chatSigns,
    mayBeEmpty,
    choices,
    isEnd: hasFinishReason,
    isWhole: (ending) => {
      if (ending.choices) return ending.choices.areComplete({ inOrder: ending.inOrder });
      if (ending.ended) return true;
      const payloads = ending.payloads();
      return payloads.some(hasFinishReason) && !payloads.some(brokenChoice);
    },
    failure: (error, first) => [
      {
        ...envelope(first, { object: 'chat.completion.chunk', model }),
        choices: [{ index: 0, delta: {}, finish_reason: 'error' }],
        error: { ...error },
      },
      // Some apps recognise only this one.
      { error: { ...error } },
    ],
  };
}

/** Streams of the older completions. */
function completionsKind(model: string, choices: () => number, mayBeEmpty: () => boolean): AnswerKind {
  return {
    ...chatKind(model, choices, mayBeEmpty),
    failure: (error, first) => [
      {
        ...envelope(first, { object: 'text_completion', model }),
        choices: [{ index: 0, text: '', logprobs: null, finish_reason: 'error' }],
        error: { ...error },
      },
    ],
  };
}

/** The event of one of these types ends a stream. */
function lastEvent(...types: string[]): LastEvent {
  const known = new Set<unknown>(types);
  return { words: types.map((type) => Buffer.from(`"${type}"`)), is: ({ type }) => known.has(type) };
}

const LAST_RESPONSE = lastEvent('response.completed', 'response.failed', 'response.incomplete');

/** Streams of the Responses API; a provider's, not the gateway's own. */
const RESPONSE_STREAM: AnswerKind = {
  isError: isResponseError,
  signs: responseSigns,
  mayBeEmpty: () => false,
  lastEvent: LAST_RESPONSE,
  textMarker: Buffer.from('response.output_text.delta'),
  isWhole: ({ payloads }) => payloads().some(LAST_RESPONSE.is),
  failure: errorEvent,
};

const LAST_OF_MESSAGE = lastEvent('message_stop');

const MESSAGE_STREAM: AnswerKind = {
  isError: isMessageError,
  signs: messageSigns,
  mayBeEmpty: () => false,
  lastEvent: LAST_OF_MESSAGE,
  isWhole: ({ payloads }) => payloads().some(LAST_OF_MESSAGE.is),
  failure: ({ message }) => [{ type: 'error', error: { type: 'api_error', message } }],
};

const LAST_OF_SOUND = lastEvent('speech.audio.done', 'transcript.text.done');
/** An image that is ready. Another one may follow. */
const WHOLE_IMAGES = new Set<unknown>(['image_generation.completed', 'image_edit.completed']);

/** Streams of other APIs (audio, images). */
const OTHER_STREAM: AnswerKind = {
  isError: isPlainError,
  signs: () => ({ content: true }),
  mayBeEmpty: () => false,
  lastEvent: LAST_OF_SOUND,
  isWhole: ({ inOrder, payloads }) => inOrder || payloads().slice(0, 1).some(endsOther),
  failure: errorEvent,
};

function endsOther(payload: JsonObject): boolean {
  return LAST_OF_SOUND.is(payload) || WHOLE_IMAGES.has(payload.type);
}

const ONE_IMAGE: AnswerKind = { ...OTHER_STREAM, lastEvent: lastEvent('image_generation.completed') };

const EMBEDDINGS: AnswerKind = {
  ...OTHER_STREAM,
  isError: isErrorOf(['data', 'embedding', 'embeddings', 'vectors']),
  signs: embeddingSigns,
};

/** The kind of answer that an API gives to a request. */
export function answerKindOf(api: string, model: string, body: Buffer): AnswerKind {
  const parsed = (name: string) => (body.includes(`"${name}"`) ? valuesOf(body, name).map(parseJson) : []);
  const numbers = () => parsed('n').flatMap((n) => requestedNumber(n) ?? []);
  const choices = () => Math.max(1, ...numbers().filter(Number.isFinite));
  // The model may stop at once at a stop sequence, and a gap between prompt and suffix may need no text.
  const mayBeEmpty = () =>
    ['stop', 'suffix'].some((name) => valuesOf(body, name).some((value) => !EMPTY_VALUE.test(value)));
  switch (api) {
    case 'chat_completions':
      return chatKind(model, choices, mayBeEmpty);
    case 'completions':
      return completionsKind(model, () => choices() * Math.max(1, ...parsed('prompt').map(promptsIn)), mayBeEmpty);
    case 'embeddings':
      return { ...EMBEDDINGS, mayBeEmpty: () => valuesOf(body, 'input').some((value) => EMPTY_VALUE.test(value)) };
    case 'messages':
      return MESSAGE_STREAM;
    case 'responses':
      return {
        ...RESPONSE_STREAM,
        mayBeEmpty: () => parsed('background').includes(true),
        mayStream: () => !parsed('stream').includes(false),
      };
    case 'images/generations':
      // Each of several has such an event.
      return choices() > 1 ? OTHER_STREAM : ONE_IMAGE;
    default:
      return OTHER_STREAM;
  }
}

const EMPTY_VALUE = /^(?:null|""|\[\s*\])$/;

/** The values of a field of a request, as raw JSON. */
function valuesOf(body: Buffer, name: string): string[] {
  return topLevelSpans(body, name).map(({ start, end }) => body.toString('utf8', start, end));
}

function hasFinishReason({ choices }: JsonObject): boolean {
  if (!Array.isArray(choices)) return false;
  return choices.some((choice) => {
    const end = isObject(choice) ? readFinishReason(choice.finish_reason) : undefined;
    return end !== undefined && end !== 'broken';
  });
}

/** The official SDKs throw on a top-level `error`. */
function errorEvent(error: ErrorObject): [JsonObject] {
  return [{ type: 'error', error: { ...error } }];
}

function envelope(first: JsonObject, defaults: { object: string; model: string }): JsonObject {
  return {
    id: first.id ?? 'chatcmpl-failed',
    object: defaults.object,
    created: first.created ?? Math.floor(Date.now() / 1000),
    model: first.model ?? defaults.model,
  };
}
