import { isJsonObject } from '../base/json.ts';
import { parseReadable } from '../protocol/requests/json-spans.ts';
import { brokenStream } from '../upstream/provider-answer.ts';
import type { AnswerHead, HeldAnswer } from '../upstream/provider-target.ts';
import { isJson, mediaTypeOf } from './answers/answer-headers.ts';
import { RelayedBody } from './answers/relayed-body.ts';
import { judgeError, judgeWhole, WholeAnswer, type WholeAnswerOptions } from './answers/whole-answer.ts';
import { streamOfCompletion } from './answers/whole-as-stream.ts';
import type { AttemptContext, PassingContext } from './attempt-context.ts';
import type { AttemptResult, ResultControl, ResultReceiver } from './attempt-result.ts';
import { ContinuedStream } from './streams/continued-stream.ts';
import { RelayedStream } from './streams/relayed-stream.ts';

/** JSON of other APIs than chat is kept until it is whole up to this, in bytes: text, and what may be vectors. */
const MAX_KEPT_TEXT = 16 * 1024 * 1024;
const MAX_KEPT = 1024 * 1024;

/** APIs that answer with JSON, or with events where a stream was asked for, and with nothing else. */
const JSON_APIS = new Set(['chat_completions', 'completions', 'responses', 'messages', 'embeddings']);

/** Chooses by the head of an answer who takes its body. */
export function receiverOf(given: AnswerHead, control: ResultControl, context: AttemptContext): ResultReceiver {
  const { api, client, target, meter, memory } = context;
  // Clients read no body of a 205: what comes with it would be an empty success.
  const head = given.status === 205 ? { ...given, status: 200 } : given;
  const whole = (judge: WholeAnswerOptions['judge'], options?: Pick<WholeAnswerOptions, 'relay' | 'keep'>) =>
    new WholeAnswer(head, control, { judge, memory, meter, ...options });
  if (head.status >= 300) {
    meter.errorStatus();
    return whole((answer) => judgeError(answer, target));
  }
  const judge = (answer: HeldAnswer) => judgeWhole(answer, context);
  if (!client) return whole(judge);
  const passing = { ...context, client };
  const type = mediaTypeOf(head);
  const isJsonApi = JSON_APIS.has(api);
  if (isStream(type, passing)) return streamReceiver(head, control, passing);
  if (isJsonApi ? client.stream : client.res.headersSent) {
    return whole((answer) => judgeInsteadOfStream(answer, passing));
  }
  const relay = () => new RelayedBody(head, control, passing);
  if (api === 'chat_completions') return whole(judge, { relay });
  if (isJsonApi) return whole(judge, { relay, keep: api === 'embeddings' ? MAX_KEPT : MAX_KEPT_TEXT });
  // Files, audio, pictures: what they are, only their provider knows.
  if (type === 'text/html') return whole(judge, { relay });
  const isShort = Number(head.headers['content-length'] ?? 0) <= MAX_KEPT;
  return isJson(type) && isShort ? whole(judge, { relay, keep: MAX_KEPT }) : relay();
}

function isStream(type: string, { api, client, kind }: PassingContext): boolean {
  const isJsonApi = JSON_APIS.has(api);
  if (isJsonApi && client.stream) return !isJson(type);
  return type === 'text/event-stream' && (!isJsonApi || (kind.mayStream?.() ?? false));
}

function streamReceiver(head: AnswerHead, control: ResultControl, context: PassingContext): ResultReceiver {
  const { continued } = context.client;
  return continued ? new ContinuedStream(head, control, context, continued) : new RelayedStream(head, control, context);
}

/** A stream was asked for, and JSON came: an error, or a provider that cannot stream. */
function judgeInsteadOfStream(answer: HeldAnswer, context: PassingContext): AttemptResult {
  const judged = judgeWhole(answer, context);
  if (judged.is === 'failed') return judged;
  const payload = judged.is === 'answered' ? parseReadable(judged.answer.body.toString('utf8')) : undefined;
  const isChat = context.api === 'chat_completions';
  const stream = isJsonObject(payload) && isChat ? streamOfCompletion(payload) : undefined;
  if (stream !== undefined) return relayWhole(answer, Buffer.from(stream), context);
  return { is: 'failed', failure: brokenStream('an answer of another type than the stream that was asked for') };
}

/** Passes a whole answer on as the stream that was asked for. */
function relayWhole(answer: HeldAnswer, stream: Buffer, context: PassingContext): AttemptResult {
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
  const receiver = streamReceiver(answer, control, context);
  receiver.data(stream);
  return early ?? receiver.end();
}
