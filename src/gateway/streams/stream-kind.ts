import type { ErrorObject } from '../../base/errors.ts';
import { isObject, type JsonObject, parseJson } from '../../base/json.ts';
import { topLevelSpans } from '../../protocol/requests/json-spans.ts';
import {
  askedNumber,
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
  responseSigns,
} from '../../upstream/provider-answer.ts';

/** Choices that are told apart at most: a provider may number them as it likes. */
const MOST_CHOICES = 1024;

/** Which choices of a stream have spoken, and which of them have ended. */
export class ChoiceEnds {
  readonly #asked: number;
  readonly #seen = new Set<number>();
  readonly #ended = new Set<number>();

  /** `asked`: how many there should be. */
  constructor(asked: number) {
    this.#asked = asked;
  }

  note({ choices }: JsonObject): void {
    for (const choice of Array.isArray(choices) ? choices : []) {
      if (!isObject(choice)) continue;
      const index = Number(choice.index ?? 0);
      if (!(index >= 0 && index < MOST_CHOICES)) continue;
      const end = readFinishReason(choice.finish_reason);
      this.#seen.add(index);
      if (end !== undefined && end !== 'broken') this.#ended.add(index);
    }
  }

  /** Whether every choice has its finish reason. A provider may make fewer than were asked for, if it ends in order. */
  areWhole({ inOrder }: { inOrder: boolean }): boolean {
    const isEnded = this.#ended.size > 0 && this.#seen.size === this.#ended.size;
    return isEnded && (inOrder || this.#ended.size >= Math.min(this.#asked, MOST_CHOICES));
  }
}

/** How a stream ended. */
export interface StreamEnding {
  /** The payloads of its last events, the last first. */
  payloads(): readonly JsonObject[];
  /** Whether a payload that was read before them told of an end. */
  ended: boolean;
  /** Where several choices were asked for: what became of them. */
  choices?: ChoiceEnds | undefined;
  /** Whether it ended with `[DONE]` or with the body, rather than being cut or falling silent. */
  inOrder: boolean;
}

/** What differs between the answers of the APIs, streamed or whole. */
export interface StreamKind {
  isError(payload: JsonObject): boolean;
  signs: ReadSigns;
  /** Whether the request may well be answered by nothing. */
  mayBeEmpty(): boolean;
  /** Whether a stream may come although none was asked for. */
  mayStream?(): boolean;
  /** How many choices were asked for; absent: there is one. */
  choices?(): number;
  /** Whether a payload tells that its answer ends, where the end of a stream is told so. */
  ends?(payload: JsonObject): boolean;
  /** What stands in every event of text: until one came the model may think and show nothing of it. */
  readonly speaks?: Buffer;
  /** Whether a stream that ends so is whole. */
  isWhole(ending: StreamEnding): boolean;
  /**
   * The payloads that tell of a failure midway (docs/failover.md, "Until when"). `first`: the first payload of the
   * stream.
   */
  failure(error: ErrorObject, first: JsonObject): [JsonObject, ...JsonObject[]];
}

/**
 * The judgement on an answer, the same on every road: `begun` with its first content, or with an end that needs none.
 * What is `waiting` once the answer is over is empty, which is a failure.
 */
export function judge(kind: StreamKind, payload: JsonObject): 'waiting' | 'begun' | 'failed' {
  if (kind.isError(payload)) return 'failed';
  const { content, end } = kind.signs(payload);
  if (end === 'failed') return 'failed';
  return content || end === 'cut' || (end !== undefined && kind.mayBeEmpty()) ? 'begun' : 'waiting';
}

/** Streams of chat completions. */
export function chatStreamKind(
  model: string,
  choices: () => number,
  mayBeEmpty: () => boolean = () => false,
): StreamKind {
  return {
    isError: isStreamError,
    signs: chatSigns,
    mayBeEmpty,
    choices,
    ends: finishes,
    isWhole: (ending) => {
      if (ending.choices) return ending.choices.areWhole({ inOrder: ending.inOrder });
      if (ending.ended) return true;
      const payloads = ending.payloads();
      return payloads.some(finishes) && !payloads.some(brokenChoice);
    },
    failure: (error, first) => [
      {
        ...envelope(first, { object: 'chat.completion.chunk', model }),
        choices: [{ index: 0, delta: {}, finish_reason: 'error' }],
        error: { ...error },
      },
      // Some apps read only this.
      { error: { ...error } },
    ],
  };
}

/** Streams of the older completions. */
function completionStream(model: string, choices: () => number, mayBeEmpty: () => boolean): StreamKind {
  return {
    ...chatStreamKind(model, choices, mayBeEmpty),
    failure: (error, first) => [
      {
        ...envelope(first, { object: 'text_completion', model }),
        choices: [{ index: 0, text: '', logprobs: null, finish_reason: 'error' }],
        error: { ...error },
      },
    ],
  };
}

const RESPONSE_ENDS = new Set(['response.completed', 'response.failed', 'response.incomplete']);

/** Streams of the Responses API; a provider's, not the gateway's own. */
const RESPONSE_STREAM: StreamKind = {
  isError: isResponseError,
  signs: responseSigns,
  mayBeEmpty: () => false,
  speaks: Buffer.from('response.output_text.delta'),
  isWhole: ({ payloads }) => payloads().some(({ type }) => typeof type === 'string' && RESPONSE_ENDS.has(type)),
  failure: errorEvent,
};

/** Streams of Anthropic's Messages. */
const MESSAGE_STREAM: StreamKind = {
  isError: isMessageError,
  signs: messageSigns,
  mayBeEmpty: () => false,
  isWhole: ({ payloads }) => payloads().some(({ type }) => type === 'message_stop'),
  failure: ({ message }) => [{ type: 'error', error: { type: 'api_error', message } }],
};

/** Streams of other APIs (audio, images): what their last event is, only their provider knows. */
const OTHER_STREAM: StreamKind = {
  isError: isPlainError,
  signs: () => ({ content: true }),
  mayBeEmpty: () => false,
  isWhole: ({ inOrder }) => inOrder,
  failure: errorEvent,
};

const EMBEDDINGS: StreamKind = {
  ...OTHER_STREAM,
  isError: isErrorOf(['data', 'embedding', 'embeddings', 'vectors']),
  signs: embeddingSigns,
};

/** The kind of stream that an API answers a request with. */
export function streamOf(api: string, model: string, body: Buffer): StreamKind {
  const asked = (name: string) => (body.includes(`"${name}"`) ? valuesOf(body, name).map(parseJson) : []);
  const numbers = () => asked('n').flatMap((n) => askedNumber(n) ?? []);
  const choices = () => Math.max(1, ...numbers().filter(Number.isFinite));
  // A stop sequence may come at once, and where a text is filled in nothing may be missing.
  const mayBeEmpty = () =>
    ['stop', 'suffix'].some((name) => valuesOf(body, name).some((value) => !NOTHING.test(value)));
  switch (api) {
    case 'chat_completions':
      return chatStreamKind(model, choices, mayBeEmpty);
    case 'completions':
      return completionStream(model, () => choices() * Math.max(1, ...asked('prompt').map(promptsIn)), mayBeEmpty);
    case 'embeddings':
      return { ...EMBEDDINGS, mayBeEmpty: () => valuesOf(body, 'input').some((value) => NOTHING.test(value)) };
    case 'messages':
      return MESSAGE_STREAM;
    case 'responses':
      return {
        ...RESPONSE_STREAM,
        mayBeEmpty: () => asked('background').includes(true),
        mayStream: () => !asked('stream').includes(false),
      };
    default:
      return OTHER_STREAM;
  }
}

const NOTHING = /^(?:null|""|\[\s*\])$/;

/** What a field of a request is set to, as it is written. */
function valuesOf(body: Buffer, name: string): string[] {
  return topLevelSpans(body, name).map(({ start, end }) => body.toString('utf8', start, end));
}

function finishes({ choices }: JsonObject): boolean {
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

function envelope(first: JsonObject, own: { object: string; model: string }): JsonObject {
  return {
    id: first.id ?? 'chatcmpl-failed',
    object: own.object,
    created: first.created ?? Math.floor(Date.now() / 1000),
    model: first.model ?? own.model,
  };
}
