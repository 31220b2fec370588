import { GatewayError } from '../../base/errors.ts';
import { CODE_OF_FAILURE } from '../turn.ts';
import type { FailedRoute } from './attempts.ts';
import { describe, finalKind } from './turn-failure.ts';

/**
 * What a client is told when every route failed (docs/failover.md, "What a client gets when every route failed"): what the
 * last one answered, never a credential.
 */
export function gatewayErrorOf(modelName: string, failures: readonly FailedRoute[]): GatewayError {
  const last = failures.at(-1);
  if (!last) return new GatewayError('upstream_error', `The model ${modelName} has no usable route.`);
  const { retryAfterMs } = last.failure;
  const code = CODE_OF_FAILURE[finalKind(failures)];
  return new GatewayError(code, describe(last), retryAfterMs === undefined ? {} : { retryAfterMs });
}
