import type { ServerResponse } from 'node:http';
import { isObject, type JsonObject, parseJson } from '../base/json.ts';
import { brokenStream } from '../upstream/attempt-failure.ts';
import { failureOfStreamError } from '../upstream/failure-of-answer.ts';
import { gatewayErrorOf } from '../upstream/gateway-error.ts';
import type { Route } from '../upstream/routes.ts';
import { mediaTypeOf, passedHeaders } from './answer-headers.ts';
import type { Asked, Receiver, ReceiverControl } from './ask-provider.ts';
import type { Doorway } from './doorway.ts';
import type { Answer, AnswerHead } from './exchange.ts';
import { RelayedBody } from './relayed-body.ts';
import { RelayedStream } from './relayed-stream.ts';
import type { StreamKind } from './stream-kind.ts';
import { judgeCompletion, judgeError, judgeJson, WholeAnswer } from './whole-answer.ts';

/** JSON of a known length up to this is kept until it is whole, in bytes. */
const MAX_KEPT = 1024 * 1024;

type ChooseReceiver = (head: AnswerHead, control: ReceiverControl) => Receiver;

export interface ReceiverContext {
  route: Route;
  doorway: Doorway;
  res: ServerResponse;
  kind: StreamKind;
  modelName: string;
  /** See `RelayedStreamOptions`. */
  holdMs: number;
}

/** Who takes the answer of a whole chat completion. */
export function completionReceiver(doorway: Doorway): ChooseReceiver {
  return (head, control) => {
    if (head.status >= 300) return errorReceiver(doorway)(head, control);
    return new WholeAnswer(head, control, (answer) => judgeCompletion(answer, doorway));
  };
}

/** Who takes the answer of a chat completion. */
export function chatReceiver(context: ReceiverContext & { stream: boolean }): ChooseReceiver {
  const { doorway, stream } = context;
  if (!stream) return completionReceiver(doorway);
  return (head, control) => {
    if (head.status >= 300) return errorReceiver(doorway)(head, control);
    if (isEncoded(head)) return relayedBody(head, control, context);
    if (mediaTypeOf(head) === 'application/json') {
      return new WholeAnswer(head, control, (answer) => judgeInsteadOfStream(answer, context));
    }
    return relayedStream(control, context);
  };
}

/** Who takes the answer of any other call. */
export function otherReceiver(context: ReceiverContext): ChooseReceiver {
  const { doorway, res } = context;
  return (head, control) => {
    const type = mediaTypeOf(head);
    if (head.status >= 300) return errorReceiver(doorway)(head, control);
    if (type === 'text/event-stream' && !isEncoded(head)) return relayedStream(control, context);
    if (res.headersSent) return new WholeAnswer(head, control, (answer) => judgeInsteadOfStream(answer, context));
    const length = Number(head.headers['content-length'] ?? Number.POSITIVE_INFINITY);
    if (type === 'text/html' || (type === 'application/json' && length <= MAX_KEPT)) {
      return new WholeAnswer(head, control, judgeJson);
    }
    return relayedBody(head, control, context);
  };
}

function errorReceiver(doorway: Doorway): ChooseReceiver {
  return (head, control) => new WholeAnswer(head, control, (answer) => judgeError(answer, doorway));
}

function relayedStream(control: ReceiverControl, context: ReceiverContext): Receiver {
  const { route, doorway, res, kind, modelName, holdMs } = context;
  return new RelayedStream(
    {
      res,
      kind,
      mask: doorway.mask,
      holdMs,
      failureOf: (payload) => failureOfStreamError(payload, doorway.scrubber),
      tell: (failure) => gatewayErrorOf(modelName, [{ route, failure }]),
    },
    control,
  );
}

function relayedBody(head: AnswerHead, control: ReceiverControl, { doorway, res }: ReceiverContext): Receiver {
  const { mask } = doorway;
  const isJson = mediaTypeOf(head) === 'application/json';
  const mayBeEmpty = !isJson || head.status === 204;
  return new RelayedBody(
    { res, status: head.status, headers: passedHeaders(head, mask), mask, mayBeEmpty, isJson },
    control,
  );
}

/** A stream was asked for, and JSON came: an error, or a provider that cannot stream. */
function judgeInsteadOfStream(answer: Answer, { doorway, kind }: ReceiverContext): Asked {
  const payload = parseJson(answer.body.toString('utf8'));
  if (isPayload(payload) && kind.isError(payload)) {
    return { is: 'failed', failure: failureOfStreamError(payload, doorway.scrubber) };
  }
  return { is: 'failed', failure: brokenStream('an answer of another type than the stream that was asked for') };
}

function isEncoded({ headers }: AnswerHead): boolean {
  const encoding = headers['content-encoding'];
  return encoding !== undefined && encoding !== 'identity';
}

function isPayload(value: unknown): value is JsonObject {
  return isObject(value);
}
