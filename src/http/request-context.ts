import { randomUUID } from 'node:crypto';
import type { IncomingMessage, ServerResponse } from 'node:http';
import type { GatewayError } from '../base/errors.ts';

/** What is known about a request while it is answered, for the answer's headers, the access log and the metrics. */
export interface RequestContext {
  readonly id: string;
  /** `performance.now()` at its start. */
  readonly startedAt: number;
  /** Aborts when the client disconnects before the answer is complete, or by `end`. */
  readonly signal: AbortSignal;
  /** Ends the request early: the signal aborts with the reason, which is the answer if there was none yet. */
  end(reason: GatewayError): void;
  /** The requested path without its query, truncated because its length is up to the client. */
  readonly path: string;
  /** Pattern of the route, never a path that contains ids. */
  route: string;
  /** Configured name of the model; empty if there is none, `unknown` for one that is not configured. */
  model: string;
  /** Id of the API key. */
  key: string;
  /** Id of the run that this request, or an earlier copy of it, submitted. */
  run: string;
  /** Code of the error that the client got, or with which the gateway cut its stream. */
  error: string;
  /** Whether the client disconnected before its answer was complete. */
  disconnected: boolean;
}

/** The reason of `RequestContext.signal` when the client disconnects. */
export class ClientLeft extends Error {
  override readonly name = 'ClientLeft';
  constructor() {
    super('The client closed the connection.');
  }
}

const MAX_PATH = 200;
const VALID_REQUEST_ID = /^[\w.:@/+=-]{1,128}$/;

const CONTEXT = Symbol('request context');

type ContextCarrier = ServerResponse & { [CONTEXT]?: RequestContext };

/** Opens the context of a request. `onEnd` is called once, when the answer is complete or the client disconnects. */
export function openContext(
  req: IncomingMessage,
  res: ContextCarrier,
  onEnd: (context: RequestContext) => void,
): RequestContext {
  const sent = req.headers['x-request-id'];
  const controller = new AbortController();
  const id = typeof sent === 'string' && VALID_REQUEST_ID.test(sent) ? sent : randomUUID();
  const context = newContext(controller, { id, path: pathOf(req.url ?? ''), route: 'unmatched' });
  res[CONTEXT] = context;
  res.once('close', () => {
    context.disconnected = !res.writableFinished;
    if (context.disconnected) controller.abort(new ClientLeft());
    onEnd(context);
  });
  return context;
}

/** A new context whose signal is that of `controller`. */
export function newContext(
  controller: AbortController,
  known: Pick<RequestContext, 'id' | 'path' | 'route'>,
): RequestContext {
  const { signal } = controller;
  const startedAt = performance.now();
  const end = (reason: GatewayError) => {
    context.error = reason.code;
    controller.abort(reason);
  };
  const context = { ...known, startedAt, signal, end, model: '', key: '', run: '', error: '', disconnected: false };
  return context;
}

function pathOf(url: string): string {
  const mark = url.indexOf('?');
  return url.slice(0, mark === -1 ? MAX_PATH : Math.min(mark, MAX_PATH));
}

/** The context that a response carries. */
export function requestContextOf(res: ContextCarrier): RequestContext {
  const context = res[CONTEXT];
  if (!context) throw new Error('This response has no request context.');
  return context;
}
