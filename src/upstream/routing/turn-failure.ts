import { GatewayError } from '../../base/errors.ts';
import { CODE_OF_FAILURE, TurnError, type TurnFailureKind, type TurnUsage } from '../turn.ts';
import type { FailedRoute } from './attempts.ts';
import type { Route } from './routes.ts';

/** The error of a turn that failed before anything was delivered: the failures of its routes, summed up. */
export function unansweredTurnError(modelName: string, failures: readonly FailedRoute[], usage: TurnUsage): TurnError {
  const last = failures.at(-1);
  if (!last) return new TurnError('failed', `The model ${modelName} has no usable route.`, { started: false, usage });
  const waits = failures.map(({ failure }) => failure.retryAfterMs).filter((wait) => wait !== undefined);
  return new TurnError(jointKind(failures), describe(last), {
    started: false,
    usage,
    retryAfterMs: waits.length > 0 ? Math.min(...waits) : undefined,
    blamesRequest: last.failure.blames === 'request',
    saysNothing: last.failure.saysNothing,
  });
}

/** The error of a turn that failed after parts were delivered. `routes`: all routes of its model. */
export function brokenTurnError(failed: FailedRoute, usage: TurnUsage, routes: readonly Route[]): TurnError {
  const { kind, retryAfterMs } = failed.failure;
  // With `max_retries: 0` everywhere, each route is tried once.
  const mayRetry = routes.some(({ provider }) => provider.config.max_retries > 0);
  const maxTries = mayRetry ? Number.POSITIVE_INFINITY : routes.length;
  return new TurnError(kind, describe(failed), { started: true, usage, retryAfterMs, maxTries });
}

/**
 * What a client gets when every route failed (docs/failover.md, "What a client gets when every route failed"): the
 * answer of the last one, without credentials.
 */
export function gatewayErrorOf(modelName: string, failures: readonly FailedRoute[]): GatewayError {
  const last = failures.at(-1);
  if (!last) return new GatewayError('upstream_error', `The model ${modelName} has no usable route.`);
  const { retryAfterMs, blames } = last.failure;
  const kind = finalKind(failures);
  return new GatewayError(CODE_OF_FAILURE[kind], describe(last), {
    ...(retryAfterMs !== undefined && { retryAfterMs }),
    // As in `toRunError`: the client has to fix its request.
    ...(kind === 'refused' && blames === 'request' && { type: 'invalid_request_error' }),
  });
}

/** The message that clients get about a failed attempt: the provider's name, and its answer without credentials. */
function describe({ route, failure }: FailedRoute): string {
  return `Provider ${route.provider.name} failed: ${failure.message}`;
}

/** As `jointKind`, but for a request that nobody will shorten: it is too long only if every route said so. */
function finalKind(failures: readonly FailedRoute[]): TurnFailureKind {
  const others = failures.filter(({ failure }) => failure.kind !== 'context_length');
  return jointKind(others.length > 0 ? others : failures);
}

/** The kind that several failures sum up to: their own where all agree; `context_length` where any says so. */
function jointKind(failures: readonly FailedRoute[]): TurnFailureKind {
  const kinds = failures.map(({ failure }) => failure.kind);
  if (kinds.includes('context_length')) return 'context_length';
  const [first] = kinds;
  return first !== undefined && kinds.every((kind) => kind === first) ? first : 'failed';
}
