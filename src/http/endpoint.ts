import type { Request, RequestHandler, Response } from 'express';
import { GatewayError } from '../base/errors.ts';
import { type WorkScope, workFor } from '../base/load/event-loop.ts';
import { MAX_LAG_MS } from '../runs/load-meter.ts';
import { type Answer, sendAnswer } from './answers/answer.ts';
import type { AppDeps, Identity } from './app-deps.ts';
import { identify } from './middleware/auth.ts';
import type { BodySource } from './middleware/read-body.ts';
import { requestContextOf } from './request-context.ts';
import { inRequestSpan } from './request-span.ts';

/** How long nothing of a body may come, in milliseconds. */
const BODY_IDLE_MS = 30_000;

/** One authenticated request. */
export interface Call extends BodySource {
  req: Request;
  res: Response;
  identity: Identity;
}

/** An endpoint: parses, calls one operation, returns what to answer. */
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
    using place = deps.bodies.open(key.id);
    const bodies = { limit: config.server.bodyLimitBytes, place, idleMs: BODY_IDLE_MS };
    const answer = await endpoint(deps, { req, res, identity, bodies });
    // Nothing of the body is needed to write the answer.
    place[Symbol.dispose]();
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
    return workFor(scope, () => inRequestSpan({ req, res, route, contents }, () => handle(req, res, scope)));
  };
}

/** An Express handler without a key, that writes its answer itself. */
export function publicHandler(route: string, handler: RequestHandler): RequestHandler {
  return (req, res, next) => {
    requestContextOf(res).route = route;
    return handler(req, res, next);
  };
}

/**
 * Refuses every method but `allowed` of a resource that `isThere`, naming them (docs/api.md, "Errors"); any other path
 * below its collection is for `rest`.
 */
export function refuseMethodsOf(
  isThere: (call: Call) => boolean,
  allowed: readonly string[],
  rest: Endpoint,
): Endpoint {
  return async (deps, call) => {
    if (!isThere(call)) return await rest(deps, call);
    throw methodNotAllowed(call.req.method, allowed, call.res);
  };
}

/** The refusal of a method; sets the header that names the others. */
export function methodNotAllowed(method: string, allowed: readonly string[], res: Response): GatewayError {
  const allow = (allowed.includes('GET') && !allowed.includes('HEAD') ? [...allowed, 'HEAD'] : allowed).join(', ');
  res.setHeader('allow', allow);
  return new GatewayError('method_not_allowed', `${method} is not possible here; use ${allow}.`);
}

/**
 * `others`: answers that are being written beside this one. Without them, and without runs, nothing is refused for
 * load: there is nothing that would have to come first.
 * @throws GatewayError `shutting_down`, `overloaded` where the gateway takes no new work.
 */
export function refuseNewWork(
  { stopping, load, runs, openAnswers }: AppDeps,
  { others = openAnswers.size - 1 }: { others?: number } = {},
): void {
  if (stopping.aborted) throw new GatewayError('shutting_down', 'The gateway is shutting down: try again.');
  if (load.lagMs < MAX_LAG_MS || others + runs.executing() <= 0) return;
  throw new GatewayError('overloaded', 'The gateway carries what it can. Try again.', { retryAfterMs: 2000 });
}
