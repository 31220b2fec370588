import type { ServerResponse } from 'node:http';
import { GatewayError } from '../base/errors.ts';
import { topLevelSpans } from '../protocol/json-spans.ts';
import type { BackoffPolicy } from '../upstream/backoff.ts';
import type { Route } from '../upstream/routes.ts';
import type { Upstream } from '../upstream/upstream.ts';
import { passedHeaders } from './answer-headers.ts';
import { type Asked, askProvider } from './ask-provider.ts';
import { chatReceiver, otherReceiver } from './choose-receiver.ts';
import { dispatchEngine } from './dispatch-engine.ts';
import type { Doorway, Doorways } from './doorway.ts';
import type { Answer, Engine } from './exchange.ts';
import { type Passed, throughRoutes } from './failover.ts';
import { outgoing, type PassedRequest } from './outgoing-request.ts';
import type { ProxyCall, ProxyOutcome } from './proxy-call.ts';
import { chatStream, type StreamKind, streamOf } from './stream-kind.ts';

/** Somebody waits: what takes longer than this is better told than waited for, in milliseconds. */
const BACKOFF: BackoffPolicy = { baseMs: 250, maxMs: 2000, patienceMs: 2000 };

/** What forwarding is made of. */
export interface ForwardParts {
  upstream: Upstream;
  /** Sends everything but chat completions. */
  middleware: Engine;
  doorways: Doorways;
  /** See `RelayedStreamOptions`. */
  holdMs: number;
}

/**
 * Passes a call to the routes of its model and writes what comes back to the client.
 * @throws GatewayError while nothing has been written; the signal's reason.
 */
export async function forwardCall(
  call: ProxyCall,
  { upstream, middleware, doorways, holdMs }: ForwardParts,
): Promise<ProxyOutcome> {
  const { res, modelName, model, key, signal } = call;
  const isChat = call.api === 'chat_completions';
  const engine = isChat ? dispatchEngine : middleware;
  const kind = isChat ? chatStream(modelName, () => asksForSeveral(call.body)) : streamOf(call.api, modelName);
  const request = requestOf(call);
  const ask = (route: Route): Promise<Asked> => {
    const doorway = doorways.of(route);
    const common = { route, doorway, res, kind, modelName, holdMs };
    return askProvider(outgoing(request, route, doorway), {
      engine,
      timeouts: route.provider.config.timeouts,
      receiver: isChat ? chatReceiver({ ...common, stream: call.stream }) : otherReceiver(common),
      signal,
    });
  };
  const tries = upstream.attempts({ modelName, model, key, backoff: BACKOFF });
  try {
    const passed = await throughRoutes({ tries, modelName, ask, attended: true, signal });
    return { tokens: finish(passed, { res, kind, doorway: doorways.of(passed.route) }) };
  } catch (thrown) {
    if (!res.headersSent || signal.aborted || !(thrown instanceof GatewayError)) throw thrown;
    endStream(res, kind, thrown);
    return { tokens: null };
  }
}

function requestOf(call: ProxyCall): PassedRequest {
  const { req, path, api, body, modelAt, encoding } = call;
  return { method: req.method ?? 'POST', path, api, headers: req.headers, body, modelAt, encoding };
}

/** Writes what is not written yet, and gives the tokens that were used. */
function finish(
  passed: Passed,
  { res, kind, doorway }: { res: ServerResponse; kind: StreamKind; doorway: Doorway },
): number | null {
  switch (passed.is) {
    case 'delivered':
      return passed.tokens;
    case 'answered':
      writeAnswer(res, passed.answer, doorway);
      return passed.tokens;
    case 'refused':
      if (res.headersSent) {
        endStream(res, kind, new GatewayError('upstream_error', `The provider answered ${passed.answer.status}.`));
      } else writeAnswer(res, passed.answer, doorway);
      return 0;
  }
}

/** Up to this length an answer goes out in one piece with its headers, in bytes: one call of the system instead of two. */
const SHORT = 32 * 1024;

function writeAnswer(res: ServerResponse, answer: Answer, { mask }: Doorway): void {
  const { status, body } = answer;
  mask.apply(body);
  res.writeHead(status, { ...passedHeaders(answer, mask), 'content-length': body.length });
  if (body.length <= SHORT) res.end(body.toString('latin1'), 'latin1');
  else res.end(body);
}

/** Tells a client of a failure that was sent comments, and so the head of a stream, while every route failed. */
function endStream(res: ServerResponse, kind: StreamKind, error: GatewayError): void {
  res.end(`data: ${JSON.stringify(kind.failure(error.toObject(), {}))}\n\n`);
}

/** Whether a chat request asks for more than one choice. */
function asksForSeveral(body: Buffer): boolean {
  return topLevelSpans(body, 'n').some(({ start, end }) => Number(body.toString('latin1', start, end)) > 1);
}
