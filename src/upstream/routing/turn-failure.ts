import { GatewayError } from '../../base/errors.ts';
import { CODE_OF_FAILURE, TurnError, type TurnFailureKind, type TurnUsage } from '../turn.ts';
import type { FailedRoute } from './attempts.ts';
import type { Route } from './routes.ts';

/** The turn failed before anything was delivered: what its routes said, together. */
export function failedTurn(modelName: string, failures: readonly FailedRoute[], usage: TurnUsage): TurnError {
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

/** The turn failed after parts were delivered. `routes`: all of its model. */
export function brokenTurn(failed: FailedRoute, usage: TurnUsage, routes: readonly Route[]): TurnError {
  const { kind, retryAfterMs } = failed.failure;
  // An operator who wants no retries gets none: each route is asked once.
  const mayRetry = routes.some(({ provider }) => provider.config.max_retries > 0);
  const mostTries = mayRetry ? Number.POSITIVE_INFINITY : routes.length;
  return new TurnError(kind, describe(failed), { started: true, usage, retryAfterMs, mostTries });
}

/**
 * What a client is told when every route failed (docs/failover.md, "What a client gets when every route failed"): what
 * the last one answered, never a credential.
 */
export function gatewayErrorOf(modelName: string, failures: readonly FailedRoute[]): GatewayError {
  const last = failures.at(-1);
  if (!last) return new GatewayError('upstream_error', `The model ${modelName} has no usable route.`);
  const { retryAfterMs } = last.failure;
  const code = CODE_OF_FAILURE[finalKind(failures)];
  return new GatewayError(code, describe(last), retryAfterMs === undefined ? {} : { retryAfterMs });
}

/** What a failed attempt is called towards clients: the provider by its name, its answer without credentials. */
function describe({ route, failure }: FailedRoute): string {
  return `Provider ${route.provider.name} failed: ${failure.message}`;
}

/** As `jointKind`, where nobody makes the request shorter: it is too long only if every route said so. */
function finalKind(failures: readonly FailedRoute[]): TurnFailureKind {
  const others = failures.filter(({ failure }) => failure.kind !== 'context_length');
  return jointKind(others.length > 0 ? others : failures);
}

/** What several routes' failures are together: of one kind where all agree, too long a request where any said so. */
function jointKind(failures: readonly FailedRoute[]): TurnFailureKind {
  const kinds = failures.map(({ failure }) => failure.kind);
  if (kinds.includes('context_length')) return 'context_length';
  const [first] = kinds;
  return first !== undefined && kinds.every((kind) => kind === first) ? first : 'failed';
}
