import type { ServerResponse } from 'node:http';
import type { Permit } from '../base/fair-semaphore.ts';
import { isObject, type JsonObject, parseJson } from '../base/json.ts';
import { brokenStream, gatewayErrorOf } from '../upstream/provider-answer.ts';
import type { AnswerHead, HeldAnswer, ProviderTarget } from '../upstream/provider-target.ts';
import type { Route } from '../upstream/upstream.ts';
import { mediaTypeOf, streamHeaders } from './answers/answer-headers.ts';
import type { ContinuedAnswer } from './answers/continued-answer.ts';
import { RelayedBody } from './answers/relayed-body.ts';
import { judgeError, judgeWhole, WholeAnswer } from './answers/whole-answer.ts';
import { streamOfCompletion } from './answers/whole-as-stream.ts';
import type { AttemptResult, ResultControl, ResultReceiver } from './attempt-result.ts';
import type { MeteredCall } from './metered-call.ts';
import { ContinuedStream } from './streams/continued-stream.ts';
import { RelayedStream } from './streams/relayed-stream.ts';
import type { StreamKind } from './streams/stream-kind.ts';

/** JSON of other APIs than chat is kept until it is whole up to this, in bytes. */
const MAX_KEPT = 1024 * 1024;

type ChooseReceiver = (head: AnswerHead, control: ResultControl) => ResultReceiver;

export interface ReceiverContext {
  route: Route;
  target: ProviderTarget;
  memory: Permit;
  metered: MeteredCall;
  res: ServerResponse;
  kind: StreamKind;
  modelName: string;
  /** See `ProxyCall`. */
  api: string;
  /** Whether a stream was asked for. */
  stream: boolean;
  /** See `RelayedStreamOptions`. */
  holdMs: number;
  /** Called before the first bytes go out: no other route is waited for then. */
  onBegin(): void;
  /** The answer that several routes may write one after the other; absent: what breaks fails. */
  continued?: ContinuedAnswer | undefined;
}

/** Who takes the answer of a whole completion. `relay`, `keep`: see `WholeAnswerOptions`. */
export function completionReceiver(
  { target, memory, metered, kind }: Pick<ReceiverContext, 'target' | 'memory' | 'metered' | 'kind'>,
  relay?: (head: AnswerHead, control: ResultControl) => ResultReceiver,
  keep?: number,
): ChooseReceiver {
  return (head, control) => {
    if (head.status >= 300) return errorReceiver(head, control, { target, memory, metered });
    return new WholeAnswer(head, control, {
      judge: (answer) => judgeWhole(answer, { target, kind }),
      memory,
      metered,
      ...(relay && { relay: () => relay(head, control) }),
      ...(keep !== undefined && { keep }),
    });
  };
}

/** APIs that answer with JSON, or with events where a stream was asked for, and with nothing else. */
const JSON_APIS = new Set(['chat_completions', 'completions', 'responses', 'messages', 'embeddings']);

/** Who takes the answer of a call. */
export function receiverOf(context: ReceiverContext): ChooseReceiver {
  if (!JSON_APIS.has(context.api)) return otherReceiver(context);
  return context.stream ? streamReceiver(context) : wholeReceiver(context);
}

function streamReceiver(context: ReceiverContext): ChooseReceiver {
  const { memory, metered, continued } = context;
  return (head, control) => {
    if (head.status >= 300) return errorReceiver(head, control, context);
    if (mediaTypeOf(head) === 'application/json') {
      return new WholeAnswer(head, control, {
        judge: (answer) => judgeInsteadOfStream(answer, context),
        memory,
        metered,
      });
    }
    return continued
      ? continuedStream(head, control, { ...context, continued })
      : relayedStream(head, control, context);
  };
}

function wholeReceiver(context: ReceiverContext): ChooseReceiver {
  const relay = (head: AnswerHead, control: ResultControl) => relayedBody(head, control, context);
  if (context.api === 'chat_completions') return completionReceiver(context, relay);
  const whole = completionReceiver(context, relay, MAX_KEPT);
  // A server of the Responses API may stream where nobody said that it shall not.
  if (context.api !== 'responses') return whole;
  return (head, control) => {
    const isStream = head.status < 300 && mediaTypeOf(head) === 'text/event-stream';
    return isStream ? relayedStream(head, control, context) : whole(head, control);
  };
}

/** Files, audio, pictures: what they are, only their provider knows. */
function otherReceiver(context: ReceiverContext): ChooseReceiver {
  const { res, memory, metered, target, kind } = context;
  return (head, control) => {
    const type = mediaTypeOf(head);
    if (head.status >= 300) return errorReceiver(head, control, context);
    if (type === 'text/event-stream') return relayedStream(head, control, context);
    if (res.headersSent) {
      return new WholeAnswer(head, control, {
        judge: (answer) => judgeInsteadOfStream(answer, context),
        memory,
        metered,
      });
    }
    const length = Number(head.headers['content-length'] ?? Number.POSITIVE_INFINITY);
    if (type === 'text/html' || (type === 'application/json' && length <= MAX_KEPT)) {
      return new WholeAnswer(head, control, {
        judge: (answer) => judgeWhole(answer, { target, kind }),
        memory,
        metered,
        relay: () => relayedBody(head, control, context),
      });
    }
    return relayedBody(head, control, context);
  };
}

function errorReceiver(
  head: AnswerHead,
  control: ResultControl,
  { target, memory, metered }: Pick<ReceiverContext, 'target' | 'memory' | 'metered'>,
): ResultReceiver {
  metered.refused();
  return new WholeAnswer(head, control, { judge: (answer) => judgeError(answer, target), memory, metered });
}

function relayedStream(head: AnswerHead, control: ResultControl, context: ReceiverContext): ResultReceiver {
  const { route, target, metered, res, kind, modelName, holdMs, onBegin } = context;
  return new RelayedStream(
    {
      res,
      headers: streamHeaders(target.requestId(head)),
      kind,
      onBegin,
      metered,
      mask: target.mask,
      holdMs,
      thinkingMs: target.thinkingMs,
      failureOf: (payload) => target.failureOfStreamError(payload),
      tell: (failure) => gatewayErrorOf(modelName, [{ route, failure }]),
    },
    control,
  );
}

function continuedStream(
  head: AnswerHead,
  control: ResultControl,
  { target, metered, res, kind, onBegin, continued }: ReceiverContext & { continued: ContinuedAnswer },
): ResultReceiver {
  const headers = streamHeaders(target.requestId(head));
  return new ContinuedStream({ res, headers, answer: continued, kind, target, metered, onBegin }, control);
}

function relayedBody(
  head: AnswerHead,
  control: ResultControl,
  { target, metered, res, onBegin }: ReceiverContext,
): ResultReceiver {
  const isJson = mediaTypeOf(head) === 'application/json';
  const mayBeEmpty = !isJson || head.status === 204;
  const headers = target.headersToClient(head);
  const received = (length: number) => metered.bytes(length, head);
  return new RelayedBody(
    { res, status: head.status, headers, mask: target.mask, onBegin, received, mayBeEmpty, isJson },
    control,
  );
}

/** A stream was asked for, and JSON came: an error, or a provider that cannot stream. */
function judgeInsteadOfStream(answer: HeldAnswer, context: ReceiverContext): AttemptResult {
  const { target, kind, api } = context;
  const judged = judgeWhole(answer, { target, kind });
  if (judged.is === 'failed') return judged;
  const payload = parseJson(answer.body.toString('utf8'));
  const stream = isPayload(payload) && api === 'chat_completions' ? streamOfCompletion(payload) : undefined;
  if (stream !== undefined) return relayWhole(answer, Buffer.from(stream), context);
  return { is: 'failed', failure: brokenStream('an answer of another type than the stream that was asked for') };
}

/** Passes a whole answer on as the stream that was asked for. */
function relayWhole(answer: HeldAnswer, stream: Buffer, context: ReceiverContext): AttemptResult {
  let early: AttemptResult | undefined;
  const control: ResultControl = {
    pause() {},
    resume() {},
    started() {},
    finish(result) {
      early = result;
    },
    soon() {},
  };
  const receiver = context.continued
    ? continuedStream(answer, control, { ...context, continued: context.continued })
    : relayedStream(answer, control, context);
  receiver.data(stream);
  return early ?? receiver.end();
}

function isPayload(value: unknown): value is JsonObject {
  return isObject(value);
}
