import type { ServerResponse } from 'node:http';
import { GatewayError } from '../base/errors.ts';
import type { FairSemaphore, Permit } from '../base/fair-semaphore.ts';
import type { Racer } from '../base/hedge.ts';
import { isObject, type JsonObject, parseJson } from '../base/json.ts';
import { workOwner } from '../base/load/event-loop.ts';
import { conversationIn } from '../protocol/requests/conversation-key.ts';
import { topLevelSpans } from '../protocol/requests/json-spans.ts';
import { gatewayErrorOf } from '../upstream/provider-answer.ts';
import type { HeldAnswer, ProviderTarget } from '../upstream/provider-target.ts';
import { type Attempt, type BackoffPolicy, targetOf, type Upstream } from '../upstream/upstream.ts';
import { ContinuedAnswer, isContinuable } from './answers/continued-answer.ts';
import type { Client, RoutedCall } from './attempt-context.ts';
import type { AttemptResult } from './attempt-result.ts';
import { asOperation } from './call-operation.ts';
import { receiverOf } from './choose-receiver.ts';
import { endAnswer } from './client-writer.ts';
import { continuing } from './continuing.ts';
import type { RoutedResult } from './failover.ts';
import type { ProxyCall, ProxyTask } from './proxy-call.ts';
import { type PassedRequest, requestFor, unstreamed } from './replace-spans.ts';
import { framesOf } from './streams/frames.ts';
import { streamOf } from './streams/stream-kind.ts';

/** Somebody waits: what takes longer than this is better told than waited for, in milliseconds. */
const BACKOFF: BackoffPolicy = { baseMs: 250, maxMs: 2000, patienceMs: 2000 };

/** What forwarding is made of. */
export interface ForwardParts {
  upstream: Upstream;
  /** See `Client`. */
  holdMs: number;
  /** For answers that are held until they are whole. */
  memory: FairSemaphore;
}

/**
 * Passes a call to the routes of its model and writes what comes back to the client; see `ModelProxy.forward`.
 * @throws GatewayError while nothing has been written; the signal's reason.
 */
export async function forwardCall(call: ProxyCall, { upstream, holdMs, memory }: ForwardParts): Promise<boolean> {
  const { res, request, modelName, model, key, account, stream, conversation, copy, signal } = call;
  const { api, body } = request;
  const continues = api === 'chat_completions' && stream && model.continue_streams && isContinuable(body);
  const continued = continues ? new ContinuedAnswer() : undefined;
  const kind = streamOf(api, modelName, body);
  const room = memory.open(key.id);
  const client = { res, copy, stream, holdMs, continued };
  const routed = { request, modelName, kind, account, memory: room, client };
  const asking = continued ? continuing(askRoute, continued) : askRoute;
  try {
    const result = await asOperation(routed, {
      attempts: upstream.attempts({ modelName, model, key, conversation, backoff: BACKOFF, attended: true }),
      modelName,
      ask: (attempt, racer) => asking(routed, attempt, racer),
      hedgeMs: model.hedge_after,
      signal,
    });
    passOn(result, client, (error) => endStream(res, kind.failure(error.toObject(), continued?.envelope ?? {})));
    return isWhole(result);
  } catch (thrown) {
    if (!res.headersSent || signal.aborted || !(thrown instanceof GatewayError)) throw thrown;
    endStream(res, kind.failure(thrown.toObject(), continued?.envelope ?? {}));
    return false;
  } finally {
    if (room.permits > 0) releaseWith(res, room);
  }
}

/**
 * Makes the chat completion of a background task: nobody waits, so it waits itself where providers ask for that.
 * @throws GatewayError as a failed task shows it; the signal's reason.
 */
export async function completeTask(task: ProxyTask, { upstream, memory }: ForwardParts): Promise<string> {
  const { modelName, model, key, account, signal } = task;
  const request = requestOfTask(task);
  using room = memory.open(workOwner());
  const kind = streamOf(request.api, modelName, request.body);
  const routed = { request, modelName, kind, account, memory: room };
  const result = await asOperation(routed, {
    attempts: upstream.attempts({ modelName, model, key, conversation: () => conversationOf(task.body) }),
    modelName,
    ask: (attempt, racer) => askRoute(routed, attempt, racer),
    hedgeMs: model.hedge_after,
    signal,
  });
  if (result.is === 'delivered') throw new Error('a task has no client to deliver to');
  if (result.is === 'failed') throw gatewayErrorOf(modelName, [result]);
  targetOf(result.route).mask.apply(result.answer.body);
  return result.answer.body.toString('utf8');
}

/** One attempt: the request goes to the route, and its answer to the receiver that its head chooses. */
function askRoute(call: RoutedCall, { route, hasAlternative, span }: Attempt, racer: Racer): Promise<AttemptResult> {
  const { request, modelName, kind, account, memory, client } = call;
  const { provider, model } = route;
  const target = targetOf(route);
  const outgoing = requestFor(request, model);
  const meter = account.attempt(route, outgoing);
  const size = { streamed: client?.stream ?? false, bytes: request.body.length };
  const onBegin = () => racer.win();
  const context = { api: request.api, modelName, kind, memory, client, route, target, meter, onBegin };
  const send = () =>
    target.call<AttemptResult>(outgoing, {
      receiver: (head, control) => receiverOf(head, control, context),
      sent: () => meter.sent(),
      patience: client && hasAlternative ? provider.patience(model, size) : undefined,
      watch: provider.firstTokens(model, size),
      streamed: size.streamed,
      unanswered: (failure) => ({ is: 'failed', failure }),
      signal: racer.signal,
    });
  return meter.result(span.in(send));
}

function conversationOf(body: string): string | undefined {
  const request = parseJson(body);
  return isObject(request) ? conversationIn('chat_completions', request) : undefined;
}

function requestOfTask(task: ProxyTask): PassedRequest {
  const body = Buffer.from(task.body);
  const [modelAt] = topLevelSpans(body, 'model');
  if (!modelAt) throw new GatewayError('internal_error', 'The stored request names no model.');
  return {
    method: 'POST',
    path: '/chat/completions',
    api: 'chat_completions',
    headers: { 'content-type': 'application/json', accept: 'application/json' },
    body,
    modelAt,
    encoding: 'json',
    changes: unstreamed(body),
  };
}

/** Writes what is not written yet. `fail`: ends a stream whose head went out already. */
function passOn(result: RoutedResult, client: Client, fail: (error: GatewayError) => void): void {
  if (isWhole(result)) client.copy?.complete();
  if (result.is === 'delivered') return;
  if (result.is === 'answered' || !client.res.headersSent) writeAnswer(client, result.answer, targetOf(result.route));
  else fail(new GatewayError('upstream_error', `The provider answered ${result.answer.status}.`));
}

function isWhole(result: RoutedResult): boolean {
  return result.is === 'answered' || (result.is === 'delivered' && result.failure === undefined);
}

/** Up to this length an answer goes out in one piece with its headers, in bytes: one call of the system instead of two. */
const SHORT = 32 * 1024;

function writeAnswer({ res, copy }: Client, answer: HeldAnswer, target: ProviderTarget): void {
  const { status, body } = answer;
  target.mask.apply(body);
  const headers = target.headersToClient(answer);
  headers['content-length'] = String(body.length);
  copy?.begin(status, headers);
  copy?.push(body);
  res.writeHead(status, headers);
  if (body.length <= SHORT) endAnswer(res, body.toString('latin1'), 'latin1');
  else endAnswer(res, body);
}

/** Tells a client of a failure that was sent comments, and so the head of a stream, while every route failed. */
function endStream(res: ServerResponse, failure: readonly JsonObject[]): void {
  endAnswer(res, framesOf(failure));
}

/** What is written is still in memory until the client has taken it. */
function releaseWith(res: ServerResponse, permit: Permit): void {
  if (res.closed) permit[Symbol.dispose]();
  else res.once('close', () => permit[Symbol.dispose]());
}
