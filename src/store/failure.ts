import { GatewayError, messageOf } from '../base/errors.ts';

const RETRY_AFTER_MS = 2000;

/** The error for a store that cannot be used right now; a retry may succeed. */
export function storeUnavailable(reason: string, cause?: unknown): GatewayError {
  return new GatewayError('store_unavailable', `The run store cannot be used: ${reason}.`, {
    retryAfterMs: RETRY_AFTER_MS,
    cause,
  });
}

/** Why the store cannot be used, without the words of `storeUnavailable` around it. */
export function storeReason(thrown: unknown): string {
  return messageOf(thrown).replace(/^The run store cannot be used: (.*)\.$/s, '$1');
}

/** Whether an error says that the store cannot be used right now. */
export function isStoreUnavailable(thrown: unknown): thrown is GatewayError {
  return thrown instanceof GatewayError && thrown.code === 'store_unavailable';
}

/** Converts what a backend threw: `store_unavailable` if `reasonOf` knows a passing reason, or `internal_error`. */
export function storeError(thrown: unknown, reasonOf: (thrown: unknown) => string | undefined): GatewayError {
  if (thrown instanceof GatewayError) return thrown;
  const reason = reasonOf(thrown);
  if (reason !== undefined) return storeUnavailable(reason, thrown);
  return new GatewayError('internal_error', 'The run store failed.', { cause: thrown });
}
