import type { ServerResponse } from 'node:http';
import { GatewayError } from '../base/errors.ts';
import { FairSemaphore, type Permit } from '../base/fair-semaphore.ts';
import type { Racer } from '../base/hedge.ts';
import { isObject, type JsonObject, parseJson } from '../base/json.ts';
import { workOwner } from '../base/load/event-loop.ts';
import type { KeyConfig, ProxyModelConfig } from '../config/schema.ts';
import { conversationIn } from '../protocol/requests/conversation-key.ts';
import { topLevelSpans } from '../protocol/requests/json-spans.ts';
import { gatewayErrorOf } from '../upstream/provider-answer.ts';
import type { HeldAnswer, ProviderTarget } from '../upstream/provider-target.ts';
import { type Attempt, type BackoffPolicy, targetOf, type Upstream } from '../upstream/upstream.ts';
import type { AnswerCopy } from './answers/answer-copy.ts';
import { ContinuedAnswer, isContinuable } from './answers/continued-answer.ts';
import type { Client, RoutedCall } from './attempt-context.ts';
import type { AttemptResult } from './attempt-result.ts';
import type { CallAccount } from './call-account.ts';
import { receiverOf } from './choose-receiver.ts';
import { endAnswer } from './client-writer.ts';
import { continuing } from './continuing.ts';
import { type RoutedResult, withFailover } from './failover.ts';
import { type PassedRequest, requestFor, unstreamed } from './replace-spans.ts';
import { framesOf } from './streams/frames.ts';
import { streamOf } from './streams/stream-kind.ts';

/** Comments before the first payload of a stream are held back this long, in milliseconds. */
const HOLD_MS = 5000;
/** What answers that are held until they are whole may take together, in bytes. */
const HELD_BYTES = 64 * 1024 * 1024;
/** Somebody waits: what takes longer than this is better told than waited for, in milliseconds. */
const BACKOFF: BackoffPolicy = { baseMs: 250, maxMs: 2000, patienceMs: 2000 };

/** A request on a proxy model, checked and ready to be passed to a provider. */
export interface ProxyCall {
  /** Nothing was written to it yet but `x-request-id` and the like, by `setHeader`. */
  res: ServerResponse;
  /** What goes to a provider, with the body as it came. */
  request: PassedRequest;
  /** Name of the model as configured, and its configuration. */
  modelName: string;
  model: ProxyModelConfig;
  key: KeyConfig;
  /** Whether the body asks for a stream. */
  stream: boolean;
  /** See `DrawQuery`. */
  conversation?: () => string | undefined;
  /** Takes down the answer, which is complete there where it may be given again. */
  copy?: AnswerCopy | undefined;
  /** What the call uses is added up here, also where it fails or is left. */
  account: CallAccount;
  /** Aborts when the client leaves: the provider's request ends with it. */
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

/** Passes requests on proxy models to their providers, over the routes of `upstream`. */
export class ModelProxy {
  readonly #upstream: Upstream;
  readonly #holdMs: number;
  /** For answers that are held until they are whole. One key alone has half of it at most. */
  readonly #memory = new FairSemaphore({
    name: 'held_answers',
    permits: HELD_BYTES,
    ofOwner: 'what is left',
    full: () => new GatewayError('overloaded', 'Too many large answers are being read. Try again.'),
  });

  /** `holdMs`: see `Client`; 5 seconds by default. */
  constructor({ upstream, holdMs = HOLD_MS }: { upstream: Upstream; holdMs?: number }) {
    this.#upstream = upstream;
    this.#holdMs = holdMs;
  }

  /**
   * Passes the request on and writes the provider's answer to `res` (docs/api.md, "Chat completions" and
   * docs/failover.md, "What a client gets when every route failed"). False where an answer that had begun broke off.
   * @throws GatewayError `upstream_error`, `upstream_timeout`, `rate_limit_exceeded`, `context_length_exceeded` while
   *   nothing has been written; the signal's reason.
   */
  async forward(call: ProxyCall): Promise<boolean> {
    const { res, request, modelName, model, key, account, stream, conversation, copy, signal } = call;
    const { api, body } = request;
    const continues = api === 'chat_completions' && stream && model.continue_streams && isContinuable(body);
    const continued = continues ? new ContinuedAnswer() : undefined;
    const kind = streamOf(api, modelName, body);
    const room = this.#memory.open(key.id);
    const client = { res, copy, stream, holdMs: this.#holdMs, continued };
    const routed = { request, modelName, kind, account, memory: room, client };
    const asking = continued ? continuing(askRoute, continued) : askRoute;
    try {
      const result = await withFailover(routed, {
        attempts: this.#upstream.attempts({ modelName, model, key, conversation, backoff: BACKOFF, attended: true }),
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
   * Makes one chat completion that is not streamed, the provider's body as it came. Nobody waits, so it waits itself
   * where providers ask for that.
   * @throws GatewayError as `forward`; the signal's reason.
   */
  async complete(task: ProxyTask): Promise<string> {
    const { modelName, model, key, account, signal } = task;
    const request = requestOfTask(task);
    using room = this.#memory.open(workOwner());
    const kind = streamOf(request.api, modelName, request.body);
    const routed = { request, modelName, kind, account, memory: room };
    const result = await withFailover(routed, {
      attempts: this.#upstream.attempts({ modelName, model, key, conversation: () => conversationOf(task.body) }),
      ask: (attempt, racer) => askRoute(routed, attempt, racer),
      hedgeMs: model.hedge_after,
      signal,
    });
    if (result.is === 'delivered') throw new Error('a task has no client to deliver to');
    if (result.is === 'failed') throw gatewayErrorOf(modelName, [result]);
    targetOf(result.route).mask.apply(result.answer.body);
    return result.answer.body.toString('utf8');
  }
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

/** Up to so many bytes an answer goes out in one piece with its headers: one call of the system instead of two. */
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
