import { type ErrorCode, GatewayError } from '../../base/errors.ts';
import type { TurnFailureKind } from '../turn.ts';
import type { FailedRoute } from './attempts.ts';
import { describe, finalKind } from './turn-failure.ts';

/**
 * The code for a request on a proxy model none of whose routes answered (docs/failover.md, "What a client gets when every
 * route failed").
 */
const CODE: Readonly<Record<TurnFailureKind, ErrorCode>> = {
  timeout: 'upstream_timeout',
  rate_limit: 'rate_limit_exceeded',
  context_length: 'context_length_exceeded',
  refused: 'upstream_error',
  failed: 'upstream_error',
};

/** What a client is told when every route failed: what the last one answered, never a credential. */
export function gatewayErrorOf(modelName: string, failures: readonly FailedRoute[]): GatewayError {
  const last = failures.at(-1);
  if (!last) return new GatewayError('upstream_error', `The model ${modelName} has no usable route.`);
  const { retryAfterMs } = last.failure;
  return new GatewayError(
    CODE[finalKind(failures)],
    describe(last),
    retryAfterMs === undefined ? {} : { retryAfterMs },
  );
}
