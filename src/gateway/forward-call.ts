import type { ServerResponse } from 'node:http';
import { GatewayError } from '../base/errors.ts';
import type { FairSemaphore, Permit } from '../base/fair-semaphore.ts';
import type { Lane } from '../base/hedge.ts';
import type { JsonObject } from '../base/json.ts';
import type { HeldAnswer, ProviderTarget } from '../upstream/provider-target.ts';
import { type Attempt, type BackoffPolicy, type Route, targetOf, type Upstream } from '../upstream/upstream.ts';
import { ContinuedAnswer, isContinuable } from './answers/continued-answer.ts';
import type { AttemptResult } from './attempt-result.ts';
import { receiverOf } from './choose-receiver.ts';
import { endAnswer } from './client-writer.ts';
import { type Passed, withFailover } from './failover.ts';
import { MeteredCall } from './metered-call.ts';
import { type PassedRequest, requestFor } from './passed-request.ts';
import type { ProxyCall } from './proxy-call.ts';
import { framesOf } from './streams/event-lines.ts';
import { type StreamKind, streamOf } from './streams/stream-kind.ts';
import { requestOfStream } from './streams/stream-request.ts';

/** Somebody waits: what takes longer than this is better told than waited for, in milliseconds. */
const BACKOFF: BackoffPolicy = { baseMs: 250, maxMs: 2000, patienceMs: 2000 };

/** What forwarding is made of. */
export interface ForwardParts {
  upstream: Upstream;
  /** See `RelayedStreamOptions`. */
  holdMs: number;
  /** For answers that are held until they are whole. */
  memory: FairSemaphore;
}

/**
 * Passes a call to the routes of its model and writes what comes back to the client.
 * @throws GatewayError while nothing has been written; the signal's reason.
 */
export async function forwardCall(call: ProxyCall, { upstream, holdMs, memory }: ForwardParts): Promise<void> {
  const { res, modelName, model, key, signal } = call;
  const isChat = call.api === 'chat_completions';
  const kind = streamOf(call.api, modelName, requestOfStream(call.body));
  const request = requestOf(call);
  const held = memory.open(key.id);
  const size = { streamed: call.stream, bytes: call.body.length };
  const continued =
    isChat && call.stream && model.continue_streams && isContinuable(call.body) ? new ContinuedAnswer() : undefined;
  const ask = ({ route, hasAlternative }: Attempt, lane: Lane): Promise<AttemptResult> => {
    const target = targetOf(route);
    const onBegin = () => lane.win();
    const { stream, api } = call;
    const common = { route, target, memory: held, res, kind, modelName, api, stream, holdMs, onBegin, continued };
    const once = (): Promise<AttemptResult> => {
      const sent = requestFor(goingOn(request, route, continued), route.model);
      const metered = new MeteredCall(call.account.attempt(route, sent), api);
      const context = { ...common, metered };
      return metered.result(
        target.call(sent, {
          receiver: receiverOf(context),
          sent: metered.sent,
          patience: hasAlternative ? route.provider.patience(route.model, size) : undefined,
          watch: route.provider.firstTokens(route.model, size),
          streamed: stream,
          unanswered: (failure) => ({ is: 'failed', failure }),
          signal: lane.signal,
        }),
      );
    };
    return continued ? onceMore(once, { continued, route }) : once();
  };
  const attempts = upstream.attempts({ modelName, model, key, backoff: BACKOFF, attended: true });
  try {
    const passed = await withFailover({ attempts, modelName, ask, hedgeMs: model.hedge_after, signal });
    finish(passed, { res, kind, target: targetOf(passed.route), envelope: continued?.envelope });
  } catch (thrown) {
    if (!res.headersSent || signal.aborted || !(thrown instanceof GatewayError)) throw thrown;
    endStream(res, { kind, error: thrown, envelope: continued?.envelope });
  } finally {
    if (held.permits > 0) releaseWith(res, held);
  }
}

/** Asks once, and once more where the route has to be asked in another way to go on. */
async function onceMore(
  once: () => Promise<AttemptResult>,
  { continued, route }: { continued: ContinuedAnswer; route: Route },
): Promise<AttemptResult> {
  const result = await once();
  return continued.begun && learnsOrder(result, route) ? await once() : result;
}

/** The request of a route that goes on where another one broke off. */
function goingOn(request: PassedRequest, route: Route, continued: ContinuedAnswer | undefined): PassedRequest {
  if (!continued?.begun) return request;
  const { endsWithUser } = route.provider.traits(route.model);
  return { ...request, changes: continued.changes(request.body, { endsWithUser }) };
}

/** A model may refuse to go on with words put into its mouth: then it is asked to, once. */
function learnsOrder(result: AttemptResult, { provider, model }: Route): boolean {
  const traits = provider.traits(model);
  if (traits.endsWithUser || result.is !== 'failed' || result.answer?.status !== 400) return false;
  if (!/prefill|(?:end|last).{0,60}(?:user|assistant)/i.test(result.answer.body.toString('utf8', 0, 4096)))
    return false;
  traits.endsWithUser = true;
  return true;
}

/** What is written is still in memory until the client has taken it. */
function releaseWith(res: ServerResponse, permit: Permit): void {
  if (res.closed) permit[Symbol.dispose]();
  else res.once('close', () => permit[Symbol.dispose]());
}

function requestOf(call: ProxyCall): PassedRequest {
  const { req, path, api, body, modelAt, encoding } = call;
  return { method: req.method ?? 'POST', path, api, headers: req.headers, body, modelAt, encoding };
}

/** Writes what is not written yet. */
function finish(
  passed: Passed,
  {
    res,
    kind,
    target,
    envelope,
  }: { res: ServerResponse; kind: StreamKind; target: ProviderTarget; envelope: JsonObject | undefined },
): void {
  switch (passed.is) {
    case 'delivered':
      return;
    case 'answered':
      writeAnswer(res, passed.answer, target);
      return;
    case 'refused':
      if (res.headersSent) {
        const error = new GatewayError('upstream_error', `The provider answered ${passed.answer.status}.`);
        endStream(res, { kind, error, envelope });
      } else writeAnswer(res, passed.answer, target);
  }
}

/** Up to this length an answer goes out in one piece with its headers, in bytes: one call of the system instead of two. */
const SHORT = 32 * 1024;

function writeAnswer(res: ServerResponse, answer: HeldAnswer, target: ProviderTarget): void {
  const { status, body } = answer;
  target.mask.apply(body);
  const headers = target.headersToClient(answer);
  headers['content-length'] = String(body.length);
  res.writeHead(status, headers);
  if (body.length <= SHORT) endAnswer(res, body.toString('latin1'), 'latin1');
  else endAnswer(res, body);
}

/** Tells a client of a failure that was sent comments, and so the head of a stream, while every route failed. */
function endStream(
  res: ServerResponse,
  { kind, error, envelope = {} }: { kind: StreamKind; error: GatewayError; envelope?: JsonObject | undefined },
): void {
  endAnswer(res, framesOf(kind.failure(error.toObject(), envelope)));
}
