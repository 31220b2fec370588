import type { ServerResponse } from 'node:http';
import { GatewayError } from '../base/errors.ts';
import { FairSemaphore, type Permit } from '../base/fair-semaphore.ts';
import type { Racer } from '../base/hedge.ts';
import { isObject, type JsonObject, parseJson } from '../base/json.ts';
import { workOwner } from '../base/load/event-loop.ts';
import type { KeyConfig, ProxyModelConfig } from '../config/schema.ts';
import { conversationKey } from '../protocol/requests/conversation-key.ts';
import { gatewayErrorOf } from '../upstream/provider-answer.ts';
import type { BufferedAnswer, ProviderTarget } from '../upstream/provider-target.ts';
import { type Attempt, type BackoffPolicy, targetOf, type Upstream } from '../upstream/upstream.ts';
import { answerKindOf } from './answer-kind.ts';
import type { AnswerCopy } from './answers/answer-copy.ts';
import { ContinuedAnswer, isContinuable } from './answers/continued-answer.ts';
import type { CallContext, Client } from './attempt-context.ts';
import type { AttemptResult } from './attempt-result.ts';
import type { CallAccount } from './call-account.ts';
import { receiverOf } from './choose-receiver.ts';
import { endAnswer } from './client-writer.ts';
import { withContinuation } from './continuing.ts';
import { type RoutedResult, withFailover } from './failover.ts';
import { type ProxiedRequest, readUnstreamed, requestFor } from './proxied-request.ts';
import { framesOf } from './streams/frames.ts';

/** How long keep-alive comments are held back before the first content of a stream, in milliseconds. */
const HOLD_MS = 5000;
/** Memory for all answers that are buffered until they are complete, in bytes. */
const BUFFERED_BYTES = 64 * 1024 * 1024;
/** In milliseconds. A client is waiting, so a longer `Retry-After` is reported to it rather than waited out. */
const BACKOFF: BackoffPolicy = { baseMs: 250, maxMs: 2000, patienceMs: 2000 };

/** A request for a proxy model, checked and ready to be sent to a provider. */
export interface ProxyCall {
  /** Nothing has been written to it; headers such as `x-request-id` have been set. */
  res: ServerResponse;
  /** The client's request, with its body unchanged. */
  request: ProxiedRequest;
  /** Name of the model as configured, and its configuration. */
  modelName: string;
  model: ProxyModelConfig;
  key: KeyConfig;
  /** Whether the body asks for a stream. */
  stream: boolean;
  /** See `DrawQuery`. */
  conversation?: () => string | undefined;
  /** Records the answer for the cache; marked complete only when it may be served again. */
  copy?: AnswerCopy | undefined;
  /** Adds up what the call uses, even when it fails or its client disconnects. */
  account: CallAccount;
  /** Aborts when the client disconnects, which cancels the provider's request. */
  signal: AbortSignal;
}

/** One non-streamed chat completion for a background task. */
export interface ProxyTask {
  modelName: string;
  model: ProxyModelConfig;
  key: KeyConfig | undefined;
  /** The request body as the client sent it. */
  body: string;
  account: CallAccount;
  signal: AbortSignal;
}

/** Proxies requests for proxy models to their providers, over the routes of `upstream`. */
export class ModelProxy {
  readonly #upstream: Upstream;
  readonly #holdMs: number;
  /** For answers that are buffered until they are complete. A single key gets at most half of it. */
  readonly #memory = new FairSemaphore({
    name: 'held_answers',
    permits: BUFFERED_BYTES,
    perOwner: 'what is left',
    fullError: () => new GatewayError('overloaded', 'Too many large answers are being read. Try again.'),
  });

  /** `holdMs`: see `Client`; 5 seconds by default. */
  constructor({ upstream, holdMs = HOLD_MS }: { upstream: Upstream; holdMs?: number }) {
    this.#upstream = upstream;
    this.#holdMs = holdMs;
  }

  /**
   * Proxies the request and writes the provider's answer to `res` (docs/api.md, "Chat completions" and
   * docs/failover.md, "What a client gets when every route failed"). Returns false when an answer broke off midway.
   * @throws GatewayError `upstream_error`, `upstream_timeout`, `rate_limit_exceeded`, `context_length_exceeded` while
   *   nothing has been written; the signal's reason.
   */
  async forward(call: ProxyCall): Promise<boolean> {
    const { res, request, modelName, model, key, account, stream, conversation, copy, signal } = call;
    const { api, body } = request;
    const isContinued = api === 'chat_completions' && stream && model.continue_streams && isContinuable(body);
    const continued = isContinued ? new ContinuedAnswer() : undefined;
    const kind = answerKindOf(api, modelName, body);
    const memory = this.#memory.open(key.id);
    const client = { res, copy, stream, holdMs: this.#holdMs, continued };
    const context = { request, modelName, kind, account, memory, client };
    const tryOnce = continued ? withContinuation(tryRoute, continued) : tryRoute;
    try {
      const result = await withFailover(context, {
        attempts: this.#upstream.attempts({
          modelName,
          model,
          key,
          conversation,
          backoff: BACKOFF,
          clientCanRetry: true,
        }),
        tryRoute: (attempt, racer) => tryOnce(context, attempt, racer),
        hedgeMs: model.hedge_after,
        signal,
      });
      deliver(result, client, (error) => endStream(res, kind.failure(error.toObject(), continued?.envelope ?? {})));
      return isWhole(result);
    } catch (thrown) {
      // The client of a removed key gets no more words, and one that disconnected reads none.
      const mayEnd = thrown instanceof GatewayError && thrown.code !== 'invalid_api_key';
      if (!res.headersSent || !mayEnd) throw thrown;
      endStream(res, kind.failure(thrown.toObject(), continued?.envelope ?? {}));
      return false;
    } finally {
      if (memory.permits > 0) releaseOnClose(res, memory);
    }
  }

  /**
   * Makes one chat completion that is not streamed and returns the provider's body. No client is waiting, so this waits
   * for as long as providers ask.
   * @throws GatewayError as `forward`; the signal's reason.
   */
  async complete(task: ProxyTask): Promise<string> {
    const { modelName, model, key, account, signal } = task;
    const request = requestOfTask(task);
    using memory = this.#memory.open(workOwner());
    const kind = answerKindOf(request.api, modelName, request.body);
    const context = { request, modelName, kind, account, memory };
    const result = await withFailover(context, {
      attempts: this.#upstream.attempts({ modelName, model, key, conversation: () => conversationOf(task.body) }),
      tryRoute: (attempt, racer) => tryRoute(context, attempt, racer),
      hedgeMs: model.hedge_after,
      signal,
    });
    if (result.is === 'delivered') throw new Error('a task has no client to deliver to');
    if (result.is === 'failed') throw gatewayErrorOf(modelName, [result]);
    targetOf(result.route).mask.maskWhole(result.answer.body);
    return result.answer.body.toString('utf8');
  }
}

/** One attempt: sends the request to the route, and the answer to the receiver that its head chooses. */
function tryRoute(call: CallContext, attempt: Attempt, racer: Racer): Promise<AttemptResult> {
  const { request, modelName, kind, account, memory, client } = call;
  const { route, hasAlternative, span } = attempt;
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
      onAsked: attempt.asked,
      onSent: () => meter.sent(),
      patience: client && hasAlternative ? provider.patience(model, size) : undefined,
      firstTokens: provider.firstTokens(model, size),
      streamed: size.streamed,
      unanswered: (failure) => ({ is: 'failed', failure }),
      signal: racer.signal,
    });
  return meter.countResult(span.in(send));
}

function conversationOf(body: string): string | undefined {
  const request = parseJson(body);
  return isObject(request) ? conversationKey('chat_completions', request) : undefined;
}

function requestOfTask(task: ProxyTask): ProxiedRequest {
  const body = Buffer.from(task.body);
  const { modelAt, changes } = readUnstreamed(body);
  if (!modelAt) throw new GatewayError('internal_error', 'The stored request names no model.');
  return {
    method: 'POST',
    path: '/chat/completions',
    api: 'chat_completions',
    headers: { 'content-type': 'application/json', accept: 'application/json' },
    body,
    modelAt,
    encoding: 'json',
    changes,
  };
}

/** Writes what the attempt has not written. `fail` ends a stream whose head was sent already. */
function deliver(result: RoutedResult, client: Client, fail: (error: GatewayError) => void): void {
  if (isWhole(result)) client.copy?.complete();
  if (result.is === 'delivered') return;
  if (result.is === 'answered' || !client.res.headersSent) writeAnswer(client, result.answer, targetOf(result.route));
  else fail(new GatewayError('upstream_error', `The provider answered ${result.answer.status}.`));
}

function isWhole(result: RoutedResult): boolean {
  return result.is === 'answered' || (result.is === 'delivered' && result.failure === undefined);
}

/** Answers up to this size go out in one piece with their headers, in bytes: one system call instead of two. */
const MAX_SINGLE_WRITE = 32 * 1024;

function writeAnswer({ res, copy }: Client, answer: BufferedAnswer, target: ProviderTarget): void {
  const { status, body } = answer;
  target.mask.maskWhole(body);
  const headers = target.headersToClient(answer);
  headers['content-length'] = String(body.length);
  copy?.begin(status, headers);
  copy?.push(body);
  res.writeHead(status, headers);
  if (body.length <= MAX_SINGLE_WRITE) endAnswer(res, body.toString('latin1'), 'latin1');
  else endAnswer(res, body);
}

/** Ends a stream with an error after every route failed: comments, and thus a 200, had been sent to the client. */
function endStream(res: ServerResponse, failure: readonly JsonObject[]): void {
  endAnswer(res, framesOf(failure));
}

/** Bytes that were written stay in memory until the client has taken them. */
function releaseOnClose(res: ServerResponse, permit: Permit): void {
  if (res.closed) permit[Symbol.dispose]();
  else res.once('close', () => permit[Symbol.dispose]());
}
