import { isJsonObject } from '../base/json.ts';
import { parseLimitedJson } from '../protocol/requests/json-spans.ts';
import { brokenStream } from '../upstream/provider-answer.ts';
import type { AnswerHead, BufferedAnswer } from '../upstream/provider-target.ts';
import { isJson, mediaTypeOf } from './answers/answer-headers.ts';
import { RelayedBody } from './answers/relayed-body.ts';
import { judgeError, judgeWhole, WholeAnswer, type WholeAnswerOptions } from './answers/whole-answer.ts';
import { streamOfCompletion } from './answers/whole-as-stream.ts';
import type { AttemptContext, RelayContext } from './attempt-context.ts';
import type { AttemptResult, ResultControl, ResultReceiver } from './attempt-result.ts';
import { ContinuedStream } from './streams/continued-stream.ts';
import { RelayedStream } from './streams/relayed-stream.ts';

/** Up to this size JSON of APIs other than chat is buffered until it is complete, in bytes: text, and possibly vectors. */
const MAX_BUFFERED_TEXT = 16 * 1024 * 1024;
const MAX_BUFFERED = 1024 * 1024;

/** APIs that answer only with JSON, or with events when a stream is requested. */
const JSON_APIS = new Set(['chat_completions', 'completions', 'responses', 'messages', 'embeddings']);

/** Chooses the receiver of an answer's body by the answer's head. */
export function receiverOf(received: AnswerHead, control: ResultControl, context: AttemptContext): ResultReceiver {
  const { api, client, target, meter, memory } = context;
  // Clients ignore the body of a 205, so it would look to them like an empty success.
  const head = received.status === 205 ? { ...received, status: 200 } : received;
  const collect = (judge: WholeAnswerOptions['judge'], options?: Pick<WholeAnswerOptions, 'relay' | 'maxLength'>) =>
    new WholeAnswer(head, control, { judge, memory, meter, ...options });
  if (head.status >= 300) {
    meter.answeredWithError();
    return collect((answer) => judgeError(answer, target));
  }
  const judge = (answer: BufferedAnswer) => judgeWhole(answer, context);
  if (!client) return collect(judge);
  const relayed = { ...context, client };
  const type = mediaTypeOf(head);
  const isJsonApi = JSON_APIS.has(api);
  if (isStream(type, relayed)) return streamReceiver(head, control, relayed);
  if (isJsonApi ? client.stream : client.res.headersSent) {
    return collect((answer) => judgeInsteadOfStream(answer, relayed));
  }
  // What passes as an answer of these APIs is JSON. Clients take another type, or none, for text.
  if (isJsonApi && !isJson(type)) return receiverOf(asJson(head), control, context);
  const relay = () => new RelayedBody(head, control, relayed);
  if (api === 'chat_completions') return collect(judge, { relay });
  if (isJsonApi) return collect(judge, { relay, maxLength: api === 'embeddings' ? MAX_BUFFERED : MAX_BUFFERED_TEXT });
  // Files, audio, images: only their provider can tell whether they are sound.
  if (type === 'text/html') return collect(judge, { relay });
  const isShort = Number(head.headers['content-length'] ?? 0) <= MAX_BUFFERED;
  return isJson(type) && isShort ? collect(judge, { relay, maxLength: MAX_BUFFERED }) : relay();
}

function asJson(head: AnswerHead): AnswerHead {
  return { ...head, headers: { ...head.headers, 'content-type': 'application/json' } };
}

function isStream(type: string, { api, client, kind }: RelayContext): boolean {
  const isJsonApi = JSON_APIS.has(api);
  if (isJsonApi && client.stream) return !isJson(type);
  return type === 'text/event-stream' && (!isJsonApi || (kind.mayStream?.() ?? false));
}

function streamReceiver(head: AnswerHead, control: ResultControl, context: RelayContext): ResultReceiver {
  const { continued } = context.client;
  return continued ? new ContinuedStream(head, control, context, continued) : new RelayedStream(head, control, context);
}

/** The client requested a stream and JSON came: an error, or a provider that cannot stream. */
function judgeInsteadOfStream(answer: BufferedAnswer, context: RelayContext): AttemptResult {
  const judged = judgeWhole(answer, context);
  if (judged.is === 'failed') return judged;
  const payload = judged.is === 'answered' ? parseLimitedJson(judged.answer.body.toString('utf8')) : undefined;
  const isChat = context.api === 'chat_completions';
  const stream = isJsonObject(payload) && isChat ? streamOfCompletion(payload) : undefined;
  if (stream !== undefined) return relayWhole(answer, Buffer.from(stream), context);
  return { is: 'failed', failure: brokenStream('an answer of another type than the stream that was asked for') };
}

function relayWhole(answer: BufferedAnswer, stream: Buffer, context: RelayContext): AttemptResult {
  let earlyResult: AttemptResult | undefined;
  const control: ResultControl = {
    pause() {},
    resume() {},
    started() {},
    finish(result) {
      earlyResult = result;
    },
    soon() {},
  };
  const receiver = streamReceiver(answer, control, context);
  receiver.data(stream);
  return earlyResult ?? receiver.end();
}
