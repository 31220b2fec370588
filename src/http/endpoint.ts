import type { Request, RequestHandler, Response } from 'express';
import { GatewayError } from '../base/errors.ts';
import { runInScope, type WorkScope } from '../base/load/event-loop.ts';
import { MAX_LAG_MS } from '../runs/load-meter.ts';
import { type Answer, sendAnswer } from './answers/answer.ts';
import type { AppDeps, Identity } from './app-deps.ts';
import { maxBody } from './limits/bounds.ts';
import { identify } from './middleware/auth.ts';
import type { BodySource } from './middleware/read-body.ts';
import { requestContextOf } from './request-context.ts';
import { inRequestSpan } from './request-span.ts';

/** How long a body may stall, in milliseconds. */
const BODY_IDLE_MS = 30_000;

/** One authenticated request. */
export interface Call extends BodySource {
  req: Request;
  res: Response;
  identity: Identity;
}

/** An endpoint parses the request, calls one operation and returns the answer. */
export type Endpoint = (deps: AppDeps, call: Call) => Promise<Answer>;

/** An Express handler that authenticates, runs the endpoint and writes its answer. */
export function handlerOf(route: string, endpoint: Endpoint, deps: AppDeps): RequestHandler {
  const handle = async (req: Request, res: Response, scope: WorkScope) => {
    const context = requestContextOf(res);
    context.route = route;
    const config = deps.config.current();
    const key = identify(req, config, deps);
    context.key = key.id;
    scope.key = key.id;
    const identity = { key, caller: { user: key.user ?? key.id, keyId: key.id }, config, context };
    using _open = deps.openAnswers.add({ key, route, end: context.end });
    using memory = deps.bodies.open(key.id);
    const bodies = { limit: maxBody(config), memory, idleMs: BODY_IDLE_MS };
    let answer: Answer;
    try {
      answer = await endpoint(deps, { req, res, identity, bodies });
    } catch (thrown) {
      await deps.attachments.discard(context);
      throw thrown;
    }
    // Writing the answer does not need the body any more.
    memory[Symbol.dispose]();
    if (answer.kind !== 'written') await write(res, answer, identity);
  };
  const write = async (res: Response, answer: Answer, { config, context }: Identity) => {
    using _ = answer.kind === 'stream' ? deps.metrics.stream() : undefined;
    const { heartbeatMs } = config.server;
    await sendAnswer(res, answer, { heartbeatMs, longAnswers: deps.longAnswers, signal: context.signal });
  };
  return (req, res) => {
    const scope: WorkScope = { route };
    const { contents } = deps.config.current().telemetry;
    return runInScope(scope, () => inRequestSpan({ req, res, route, contents }, () => handle(req, res, scope)));
  };
}

/** Adds the route's name to a handler that needs no key and writes its answer itself. */
export function publicHandler(route: string, handler: RequestHandler): RequestHandler {
  return (req, res, next) => {
    requestContextOf(res).route = route;
    return handler(req, res, next);
  };
}

/**
 * Refuses every method but `allowed` on a resource that `exists`, and names those (docs/api.md, "Errors"). Any other path
 * of the collection goes to `rest`.
 */
export function refuseMethodsOf(exists: (call: Call) => boolean, allowed: readonly string[], rest: Endpoint): Endpoint {
  return async (deps, call) => {
    if (!exists(call)) return await rest(deps, call);
    throw methodNotAllowed(call.req.method, allowed, call.res);
  };
}

/** The error for a method that is not allowed. Sets the `Allow` header. */
export function methodNotAllowed(method: string, allowed: readonly string[], res: Response): GatewayError {
  const allow = (allowed.includes('GET') && !allowed.includes('HEAD') ? [...allowed, 'HEAD'] : allowed).join(', ');
  res.setHeader('allow', allow);
  return new GatewayError('method_not_allowed', `${method} is not possible here; use ${allow}.`);
}

/**
 * Refuses new work when the gateway is shutting down or overloaded. `others`: how many other answers are being written;
 * with none, and no runs, the load is not caused by earlier work, and refusing would help nobody.
 * @throws GatewayError `shutting_down`, `overloaded`.
 */
export function refuseNewWork(
  { stopping, load, runs, openAnswers }: AppDeps,
  { others = openAnswers.size - 1 }: { others?: number } = {},
): void {
  if (stopping.aborted) throw new GatewayError('shutting_down', 'The gateway is shutting down: try again.');
  if (load.lagMs < MAX_LAG_MS || others + runs.executing() <= 0) return;
  throw new GatewayError('overloaded', 'The gateway carries what it can. Try again.', { retryAfterMs: 2000 });
}
